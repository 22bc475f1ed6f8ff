import type { CaptureData } from "../../contract/schemas/captures.ts";
import type { KeptDisksData } from "../../contract/schemas/disks.ts";
import type { LabEntry } from "../../contract/schemas/observe.ts";

/** Use of the host by the labs of one owner. */
export interface Usage {
  /** "": labs without a known owner. */
  readonly owner: string;
  readonly labs: number;
  /** Nodes of the labs' texts. */
  readonly nodes: number;
  readonly captures: number;
  readonly captureBytes: number;
  /** Disks of destroyed labs. */
  readonly keptDiskBytes: number;
}

interface UsageInput {
  readonly labs: readonly LabEntry[];
  readonly captures: readonly CaptureData[];
  readonly disks: readonly KeptDisksData[];
}

/** Sums the labs, captures and kept disks by owner, sorted by owner. A capture belongs to the owner of its lab. */
export function usageByOwner({ labs, captures, disks }: UsageInput): readonly Usage[] {
  const owners = new Map(labs.map(({ lab, owner = "" }) => [lab, owner]));
  const sums = new Map<string, Usage>();
  const add = (owner: string, more: Partial<Omit<Usage, "owner">>) => {
    const before = sums.get(owner) ?? { owner, labs: 0, nodes: 0, captures: 0, captureBytes: 0, keptDiskBytes: 0 };
    sums.set(owner, {
      owner,
      labs: before.labs + (more.labs ?? 0),
      nodes: before.nodes + (more.nodes ?? 0),
      captures: before.captures + (more.captures ?? 0),
      captureBytes: before.captureBytes + (more.captureBytes ?? 0),
      keptDiskBytes: before.keptDiskBytes + (more.keptDiskBytes ?? 0),
    });
  };
  for (const { owner = "", nodes = 0 } of labs) add(owner, { labs: 1, nodes });
  for (const { lab, size_bytes: bytes = 0 } of captures) add(owners.get(lab) ?? "", { captures: 1, captureBytes: bytes });
  for (const { owner, size_bytes: bytes } of disks) add(owner, { keptDiskBytes: bytes });
  return [...sums.values()].sort((a, b) => (a.owner < b.owner ? -1 : 1));
}
