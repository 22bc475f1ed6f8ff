import { readFile } from "node:fs/promises";
import { Failure } from "../../../contract/errors.ts";
import { machineBind } from "../../../intent/lab/machine-bind.ts";

interface BoundNode {
  readonly name: string;
  readonly binds?: readonly string[];
}

/** Returns the paths of the machine in which these nodes may write, without those below others. */
export function writableSources(nodes: readonly BoundNode[]): readonly string[] {
  const all = [
    ...new Set(nodes.flatMap(({ binds = [] }) => binds.map(machineBind).flatMap(({ source, writable }) => (writable ? [source] : [])))),
  ];
  return all.filter((one) => !all.some((other) => other !== one && one.startsWith(`${other}/`))).sort();
}

/** A path of the machine in which a node is to write, and which the running lab does not show in its own range of ids. */
export interface UnmappedBind {
  readonly node: string;
  readonly source: string;
}

/** Returns the first such path of these nodes: a lab gets writable paths only when its sandbox is made. @param pid the holder of the lab */
export async function unmappedBind(pid: number, nodes: readonly BoundNode[]): Promise<UnmappedBind | undefined> {
  if (writableSources(nodes).length === 0) return undefined;
  const mapped = idmappedPlaces(await readFile(`/proc/${pid}/mountinfo`, "utf8"));
  // The lab runs with the ids that files have on disk.
  if (mapped.length === 0) return undefined;
  for (const node of nodes) {
    const source = writableSources([node]).find((one) => !mapped.some((place) => one === place || one.startsWith(`${place}/`)));
    if (source !== undefined) return { node: node.name, source };
  }
  return undefined;
}

export function unmappedRefusal({ node, source }: UnmappedBind): Failure {
  const message = `node ${node}: a lab gets a writable path of the machine, ${source}, when its first node starts: stop all nodes of the lab, and start them again`;
  return new Failure("host_error", message, { data: { host: { message } } });
}

/** Returns the mount points whose files have other ids than on disk, from the text of mountinfo. */
export function idmappedPlaces(mountinfo: string): readonly string[] {
  return mountinfo.split("\n").flatMap((line) => {
    const [, , , , place = "", options = ""] = line.split(" ");
    if (!options.split(",").includes("idmapped")) return [];
    return [place.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))];
  });
}
