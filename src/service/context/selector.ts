import { Failure } from "../../contract/errors.ts";
import { checkLabPath } from "../../intent/lab/lab-path.ts";
import { checkFiles } from "../../intent/parse/files.ts";
import { type Manifest, readManifest } from "../../intent/parse/manifest.ts";
import { badRequest } from "../common/refusals.ts";

/** Fields of every payload that name its project. */
export interface Selector {
  readonly lab?: string;
  readonly yaml?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly state?: unknown;
  readonly manifest?: string;
  readonly dir?: string;
  readonly out?: string;
  readonly origin?: string;
}

/** Returns the lab path of a payload: `lab`, else from its manifest, else the name in its yaml. Throws bad_request. */
export function pathOf({ lab }: Selector, manifest: Manifest | undefined, name: string | undefined): string {
  const named = lab ?? manifest?.lab ?? name;
  if (named === undefined) throw badRequest("/lab", "no lab is named: set lab, or a name in yaml");
  const checked = checkLabPath(named);
  if ("problem" in checked) throw badRequest(lab === undefined && manifest?.lab !== undefined ? "/manifest" : "/lab", checked.problem);
  return checked.path;
}

/** Checks the fields that need no lab: dir, out, files, manifest. */
export function checkFields(payload: Omit<Selector, "state">): Manifest | undefined {
  for (const field of ["dir", "out"] as const) {
    if (payload[field] !== undefined && payload[field] !== "") {
      throw new Failure("field_not_allowed", `${field} must be absent or empty: the service writes no client files`, { data: { field } });
    }
  }
  const manifest = manifestOf(payload);
  // For an observed project, files are unused and therefore not checked.
  if (payload.files !== undefined && manifest?.mode !== "load") {
    const { problems } = checkFiles(payload.files);
    if (problems.length > 0) {
      throw new Failure("bad_request", problems[0]!.message, {
        data: { problems: problems.map(({ path, message }) => ({ path, message })) },
      });
    }
  }
  return manifest;
}

function manifestOf({ manifest }: Pick<Selector, "manifest">): Manifest | undefined {
  if (manifest === undefined) return undefined;
  const read = readManifest(manifest);
  if ("problem" in read) throw badRequest("/manifest", read.problem);
  return read.manifest;
}
