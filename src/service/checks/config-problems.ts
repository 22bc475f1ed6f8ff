import { Failure } from "../../contract/errors.ts";
import type { Operation } from "../../engine/model/plan.ts";
import type { ChangeWarning, HostSession } from "../../hosts/host.ts";
import type { ConfigProblem } from "../../hosts/host-configs.ts";
import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import type { LabNode } from "../../intent/lab/lab.ts";
import type { ValuePlace } from "../../intent/places/value-place.ts";
import type { WorkPart } from "../context/parts.ts";
import type { Intent } from "../work/intents.ts";

type Text = Pick<Intent, "lab" | "yaml" | "files">;

/** A problem of a node's startup-config, with its place in the text of the lab. */
interface Located {
  readonly node: string;
  readonly diagnostic: Diagnostic;
}

/** Problems of a lab that are reported at most. */
const maxProblems = 200;

/**
 * Returns a warning for each line of a startup-config that the software of its node does not accept, such as FRR. Not errors: the software leaves out such
 * a line and takes the others. @param nodes keys of the nodes to check; absent: all
 */
export async function configProblems(
  context: WorkPart,
  host: Pick<HostSession, "checkConfigs">,
  text: Text,
  nodes?: ReadonlySet<string>,
): Promise<readonly Diagnostic[]> {
  return (await located(context, host, text, nodes)).map(({ diagnostic }) => diagnostic);
}

/** Starts the check of the startup-configs that these steps set, and returns a function that reports its result when the steps are done. */
export function checkChanged(
  context: WorkPart,
  host: Pick<HostSession, "checkConfigs">,
  text: Text,
  operations: readonly Operation[],
): (warn: (warning: ChangeWarning) => void) => Promise<void> {
  const found = located(context, host, text, nodesWithConfigs(operations)).then(
    (problems) => ({ problems }),
    (error: unknown) => ({ error }),
  );
  return async (warn) => {
    const result = await found;
    if ("error" in result) throw result.error;
    for (const { node, diagnostic } of result.problems) {
      const { code, message, file, line, hint } = diagnostic;
      const place = `${file ?? "the lab's file"}, line ${line}`;
      warn({
        code: code === "config_line" ? code : "config_unchecked",
        node,
        message: `${place}: ${message}${hint === undefined ? "" : `; ${hint}`}`,
      });
    }
  };
}

/** Returns the keys of the nodes whose startup-config the steps set. */
export function nodesWithConfigs(operations: readonly Operation[]): ReadonlySet<string> {
  return new Set(
    operations.flatMap(({ step }) =>
      step.do === "create-node" || (step.do === "update-node" && step.fields.includes("startupConfig")) ? [step.node.key] : [],
    ),
  );
}

async function located(
  { work }: WorkPart,
  { checkConfigs }: Pick<HostSession, "checkConfigs">,
  { lab, yaml, files }: Text,
  keys: ReadonlySet<string> | undefined,
): Promise<readonly Located[]> {
  const nodes = lab.nodes.filter(({ key, startupConfig = "" }) => startupConfig !== "" && keys?.has(key) !== false);
  if (checkConfigs === undefined || nodes.length === 0) return [];
  const configs = nodes.map(({ template, image, attributes, startupConfig }) => ({
    template,
    attributes,
    ...(image !== undefined && { image }),
    text: startupConfig ?? "",
  }));
  const placesOf = (some: readonly LabNode[]) =>
    work.fieldPlaces(
      yaml,
      files,
      some.map(({ key }) => ({ kind: "config", key, field: "startup-config" })),
    );
  const asked = await checkConfigs(configs).catch((error: unknown) => {
    if (error instanceof Failure) return error;
    throw error;
  });
  if (asked instanceof Failure) {
    const [first] = nodes;
    const message = `the startup-configs could not be checked: ${asked.message}`;
    return (await placesOf(nodes.slice(0, 1))).map((place) => ({
      node: first?.key ?? "",
      diagnostic: { severity: "warning", code: "config_unchecked", message, ...place },
    }));
  }
  const wrong = nodes.flatMap((node, i) => (asked[i]?.length ? [{ node, problems: asked[i] }] : []));
  if (wrong.length === 0) return [];
  const places = await placesOf(wrong.map(({ node }) => node));
  const source = yaml.split("\n");
  const lines = new Map<string, readonly string[]>();
  // Nodes may share a configuration.
  const found = new Map<string, Located>();
  for (const [i, { node, problems }] of wrong.entries()) {
    const text = node.startupConfig ?? "";
    const config = lines.get(text) ?? text.split("\n");
    lines.set(text, config);
    for (const problem of problems) {
      const diagnostic = diagnosticOf(node, problem, places[i]!, { config, yaml: source });
      const place = `${diagnostic.file ?? ""}:${diagnostic.line}:${diagnostic.column}`;
      if (!found.has(place)) found.set(place, { node: node.key, diagnostic });
      if (found.size === maxProblems) return [...found.values()];
    }
  }
  return [...found.values()];
}

/** In the file of the configuration, or in the block of the YAML text that contains it. */
function diagnosticOf(
  node: LabNode,
  { line, column, problem, hint }: ConfigProblem,
  place: ValuePlace,
  { config, yaml }: { readonly config: readonly string[]; readonly yaml: readonly string[] },
): Diagnostic {
  const text = config[line - 1] ?? "";
  const about = {
    severity: "warning",
    code: "config_line",
    message: `startup-config of ${node.name}: ${problem}`,
    path: place.path,
    ...(hint !== undefined && { hint }),
  } as const;
  const spot = (file: string | undefined, at: number, indent: number): Diagnostic => ({
    ...about,
    ...(file !== undefined && { file }),
    line: at,
    column: indent + (column ?? 1),
    end_line: at,
    end_column: indent + Math.max(text.trimEnd().length, column ?? 1) + 1,
  });
  if (node.startupConfigFile !== undefined) return spot(node.startupConfigFile, line, 0);
  const written = yaml[place.line - 1 + line]?.replace(/\r$/, "");
  const isBlock = written !== undefined && text !== "" && written.endsWith(text) && written.slice(0, -text.length).trim() === "";
  if (isBlock) return spot(undefined, place.line + line, written.length - text.length);
  const { path: _path, ...rest } = place;
  return { ...about, message: `line ${line} of the ${about.message}`, ...rest };
}
