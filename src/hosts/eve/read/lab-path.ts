import { Failure } from "../../../contract/errors.ts";

/** Where a lab is on the host: the service says /courses/bgp-1, the host /courses/bgp-1.unl. */
export interface EveLabPath {
  /** /courses/bgp-1 */
  readonly path: string;
  /** /courses, or / */
  readonly folder: string;
  /** bgp-1: the lab's name, which on EVE-NG is its file's name. */
  readonly name: string;
  /** /courses/bgp-1.unl */
  readonly file: string;
  /** The file below /api/labs, percent-encoded. */
  readonly url: string;
}

/** What EVE-NG takes as the name of a lab or folder; another name breaks it instead of being refused. */
const named = /^[A-Za-z0-9_ -]+$/;

/** Throws bad_request for a path that EVE-NG has no name for, before anything is sent. */
export function eveLabPath(path: string): EveLabPath {
  const segments = path.split("/").filter((segment) => segment !== "");
  const wrong = segments.find((segment) => !named.test(segment) || segment.trim() !== segment);
  const name = segments.at(-1);
  if (wrong !== undefined || name === undefined) {
    const message = `EVE-NG cannot have a lab ${JSON.stringify(path)}: names of labs and folders there are letters, digits, spaces, underscores and hyphens`;
    throw new Failure("bad_request", message, { data: { problems: [{ path: "/lab", message }] } });
  }
  const clean = `/${segments.join("/")}`;
  return {
    path: clean,
    folder: segments.length === 1 ? "/" : `/${segments.slice(0, -1).join("/")}`,
    name,
    file: `${clean}.unl`,
    url: `${encodePath(clean)}.unl`,
  };
}

/** Percent-encodes each segment; "/" stays. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
