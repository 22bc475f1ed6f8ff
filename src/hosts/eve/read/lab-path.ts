import { Failure } from "../../../contract/errors.ts";

/** The path of a lab on the host: the service's /courses/bgp-1 is the host's /courses/bgp-1.unl. */
export interface EveLabPath {
  /** /courses/bgp-1 */
  readonly path: string;
  /** /courses, or / */
  readonly folder: string;
  /** bgp-1: the lab's name, which is the file's name on EVE-NG. */
  readonly name: string;
  /** /courses/bgp-1.unl */
  readonly file: string;
  /** The file below /api/labs, percent-encoded. */
  readonly url: string;
}

/** Names of labs and folders that EVE-NG accepts; another name breaks it instead of being refused. */
const named = /^[A-Za-z0-9_ -]+$/;

/** Snapshots are lab files in this folder. Labwright neither lists nor opens them as labs. */
export const snapshotsFolder = "/labwright-snapshots";

/** Throws bad_request for a path that EVE-NG does not allow, and for a path in the snapshots' folder, before anything is sent. */
export function eveLabPath(path: string): EveLabPath {
  const at = placeOf(path);
  if (!at.path.startsWith(`${snapshotsFolder}/`)) return at;
  throw badPath(`${at.path} is not a lab: the folder ${snapshotsFolder} holds snapshots of labs`);
}

/** Returns why EVE-NG cannot have a lab at this path, `undefined` if it can. */
export function labPathProblem(path: string): string | undefined {
  try {
    eveLabPath(path);
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
}

/** Returns the file of a snapshot. Throws bad_request for a name that EVE-NG does not allow. */
export function snapshotPath(lab: EveLabPath, name: string): EveLabPath {
  return placeOf(`${snapshotsFolder}${lab.path}/${name}`);
}

function placeOf(path: string): EveLabPath {
  const segments = path.split("/").filter((segment) => segment !== "");
  const wrong = segments.find((segment) => !named.test(segment) || segment.trim() !== segment);
  const name = segments.at(-1);
  if (wrong !== undefined || name === undefined) {
    const own = path.replace(/\.unl$/, "");
    const hint = own === path ? "" : `; without .unl: ${own}`;
    throw badPath(
      `EVE-NG cannot have a lab ${JSON.stringify(path)}: names of labs and folders there are letters, digits, spaces, underscores and hyphens${hint}`,
    );
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

function badPath(message: string): Failure {
  return new Failure("bad_request", message, { data: { problems: [{ path: "/lab", message }] } });
}

/** Percent-encodes each segment; "/" stays. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
