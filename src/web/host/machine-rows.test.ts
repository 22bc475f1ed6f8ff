import { expect, test } from "vitest";
import type { MachineData } from "../../contract/schemas/machines.ts";
import { machineRows } from "./machine-rows.ts";

const alpha: MachineData = {
  name: "alpha",
  url: "https://192.0.2.1:8444",
  state: "active",
  answers: true,
  own: true,
  labels: { rack: "7", gpu: "true" },
  version: "1.0.0",
  processors: 16,
  load: 2.1,
  memory_mib: 65_536,
  available_memory_mib: 32_768,
  labs: 12,
  joined_at: "2026-01-01T00:00:00Z",
  seen_at: "2026-01-02T00:00:00Z",
};

test("a machine is shown with its load, its labels, and the time since which it does not answer", () => {
  const { own: _own, ...other } = alpha;
  const [first, second, third] = machineRows(
    [alpha, { ...other, state: "cordoned", processors: 1 }, { ...other, answers: false, labels: {} }],
    (at) => `the time ${at}`,
  );
  expect(first).toEqual({
    name: "alpha",
    isCordoned: false,
    isDraining: false,
    runsLabs: true,
    state: "active, shows this page",
    isLost: false,
    labs: "12",
    memory: "32.0 of 64.0 GiB free",
    load: "2.1 on 16 processors",
    labels: "rack=7 gpu=true",
    problem: "",
  });
  expect(second).toMatchObject({ isCordoned: true, state: "gets no new labs", load: "2.1 on 1 processor" });
  const [draining] = machineRows([{ ...other, state: "cordoned", draining: true }], String);
  expect(draining).toMatchObject({ isCordoned: true, isDraining: true, state: "its labs move away" });
  const [without] = machineRows([{ ...alpha, runs_labs: false, available_memory_mib: 0 }], String);
  expect(without).toMatchObject({ runsLabs: false, state: "runs no labs, shows this page", memory: "" });
  expect(third).toMatchObject({ isLost: true, state: "no answer since the time 2026-01-02T00:00:00Z", labels: "" });
});
