import { expect, test } from "vitest";
import type { CaptureData } from "../../contract/schemas/captures.ts";
import { usageByOwner } from "./usage.ts";

const lab = (path: string, owner: string, nodes: number) => ({
  lab: path,
  name: path.slice(1),
  mode: "managed",
  owner,
  exists: true,
  nodes,
});
const capture = (path: string, bytes: number) => ({ lab: path, size_bytes: bytes }) as CaptureData;

test("labs, captures and kept disks are summed by owner; a capture belongs to the owner of its lab", () => {
  const usage = usageByOwner({
    labs: [lab("/b", "zoe", 3), lab("/a", "ann", 1), lab("/c", "ann", 2)],
    captures: [capture("/c", 10), capture("/c", 5), capture("/gone", 1)],
    disks: [{ disks: "d", lab: "/old", owner: "zoe", kept_at: "2026-01-01T00:00:00Z", size_bytes: 7, nodes: [] }],
  });
  expect(usage).toEqual([
    { owner: "", labs: 0, nodes: 0, captures: 1, captureBytes: 1, keptDiskBytes: 0 },
    { owner: "ann", labs: 2, nodes: 3, captures: 2, captureBytes: 15, keptDiskBytes: 0 },
    { owner: "zoe", labs: 1, nodes: 3, captures: 0, captureBytes: 0, keptDiskBytes: 7 },
  ]);
});
