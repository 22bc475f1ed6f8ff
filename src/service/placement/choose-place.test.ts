import { expect, test } from "vitest";
import type { MachineRow } from "../store/machines.ts";
import { choosePlace, memoryOf, notReported } from "./choose-place.ts";

const machine = (number: number, name: string, free: number, more: Partial<MachineRow> = {}): MachineRow => ({
  number,
  name,
  url: "https://192.0.2.1:8444",
  state: "active",
  labels: {},
  facts: { version: "1", processors: 2, load: 0, memory: 1_000, availableMemory: free },
  joinedAt: 0,
  seenAt: 0,
  silentMs: 500,
  readAt: 10_000,
  ...more,
});

const nameOf = (chosen: ReturnType<typeof choosePlace>) => ("refused" in chosen ? chosen.refused : chosen.machine.name);

test("the machine with the largest free share of its memory gets a lab, and what was placed since its report counts", () => {
  const [alpha, beta] = [machine(1, "alpha", 500), machine(2, "beta", 600)];
  expect(nameOf(choosePlace([alpha, beta], 100, []))).toBe("beta");
  const placed = [{ machine: 2, memory: 200, at: 9_800 }];
  expect(nameOf(choosePlace([alpha, beta], 100, notReported(placed, [alpha, beta])))).toBe("alpha");
  // Beta has reported at 9,500: what was placed before that is in the report.
  expect(notReported([{ machine: 2, memory: 200, at: 9_400 }], [alpha, beta])).toEqual([]);
  expect(notReported([{ machine: 3, memory: 200, at: 9_800 }], [alpha, beta])).toEqual([]);
  const equal = [machine(2, "beta", 500), alpha];
  expect(nameOf(choosePlace(equal, 100, []))).toBe("alpha");
});

test("each refused machine is named with its reason", () => {
  const rows = [
    machine(1, "alpha", 50),
    machine(2, "beta", 900, { state: "cordoned" }),
    machine(3, "gamma", 900, { silentMs: 9_001 }),
    machine(4, "delta", 900, { labels: { gpu: "false" } }),
  ];
  expect(nameOf(choosePlace(rows, 100, [], { labels: { gpu: "true" } }))).toHaveLength(4);
  expect(nameOf(choosePlace(rows.slice(0, 3), 100, []))).toEqual([
    "alpha has 50 MiB free, and the lab needs 100",
    "beta is cordoned",
    "gamma does not answer",
  ]);
  expect(nameOf(choosePlace(rows, 100, [], { machine: "alpha" }))).toEqual(["alpha has 50 MiB free, and the lab needs 100"]);
  expect(nameOf(choosePlace(rows, 100, [], { machine: "omega" }))).toEqual(["there is no machine omega"]);
  expect(memoryOf({ nodes: [{ ram: 256 }, {}] } as unknown as Parameters<typeof memoryOf>[0])).toBe(288);
});

test("a machine with the images of a lab is preferred, unless another one has far more memory; the reasons say so", () => {
  const image = { kind: "container", name: "tool:1", digest: "", arch: "x64", bytes: 1 } as const;
  const withImage = (number: number, name: string, free: number) => {
    const row = machine(number, name, free);
    return { ...row, facts: { ...row.facts, images: [image] } };
  };
  const rows = [machine(1, "alpha", 900), withImage(2, "beta", 500)];
  const reasons = (chosen: ReturnType<typeof choosePlace>) => ("refused" in chosen ? chosen.refused : chosen.reasons).join("; ");
  const chosen = choosePlace(rows, 100, [], {}, ["tool:1"]);
  expect(nameOf(chosen)).toBe("beta");
  expect(reasons(chosen)).toContain("beta has the image tool:1, which other machines lack");
  // An image that no machine reports is in a registry.
  expect(nameOf(choosePlace(rows, 100, [], {}, ["other:1"]))).toBe("alpha");
  const far = choosePlace([machine(1, "alpha", 900), withImage(2, "beta", 400)], 100, [], {}, ["tool:1"]);
  expect(nameOf(far)).toBe("alpha");
  expect(reasons(far)).toContain("alpha lacks the image tool:1, which another machine has");
});
