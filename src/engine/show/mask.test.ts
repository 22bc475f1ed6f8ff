import { expect, test } from "vitest";
import type { Lab } from "../../intent/lab/lab.ts";
import { readIntent } from "../../intent/read/read.ts";
import { nodeChanges } from "../compare/diff-node.ts";
import type { Change } from "../model/plan.ts";
import { maskAction, maskLab } from "./mask.ts";
import { unmaskLab } from "./unmask.ts";

const yaml = `name: x
nodes:
  r1: {template: linux, files: {/etc/app: "user: root\\npassword: hunter2\\n", /etc/plain: "nothing here\\n"}}
`;
const { lab } = readIntent(yaml) as { lab: Lab };

test("secrets in files are masked in labs and plans, and known ones are put back into an edited lab", () => {
  const masked = maskLab(lab);
  expect(JSON.stringify(masked)).not.toContain("hunter2");
  expect(masked.nodes[0]?.files?.["/etc/plain"]).toEqual({ text: "nothing here\n" });
  expect(unmaskLab(masked, lab)).toEqual({ lab, lost: [] });
  const changes: readonly Change[] = nodeChanges(lab.nodes[0]!);
  const shown = maskAction({ changes }).changes.filter(({ field }) => field.startsWith("files."));
  expect(shown).toEqual([
    { field: "files./etc/app", before: null, after: expect.not.stringContaining("hunter2"), sensitive: true },
    { field: "files./etc/plain", before: null, after: "nothing here\n" },
  ]);
});

const worded = readIntent(`name: x
description: the password is hunter2
nodes:
  r1:
    template: frr
    env: {OPTIONS: --password=hunter2, PLAIN: seen}
    labels: {password: hunter2, note: "token=hunter2", site: north}
    files: {/srv/api-token: "hunter2\\n"}
    ready: [{command: echo password hunter2}, {command: echo password hunter22}]
texts: [{text: password hunter2, x: 1, y: 2}]
tests:
  - {from: r1, http: "http://ann:hunter2@10.0.0.1/"}
  - {from: r1, config: [neighbor 1.1.1.1 password hunter2, neighbor 1.1.1.1 password hunter22]}
  - {from: r1, config: neighbor 1.1.1.1 password hunter22}
  - {from: r1, name: the password hunter2, command: "true"}
`).lab as Lab;

test("secrets in each text of a lab are masked, and known ones are put back even if several look alike", () => {
  const masked = maskLab(worded);
  expect(JSON.stringify(masked)).not.toContain("hunter2");
  expect(masked.nodes[0]).toMatchObject({
    env: { PLAIN: "seen" },
    labels: { site: "north" },
    files: { "/srv/api-token": { text: "(sensitive)" } },
  });
  expect(new Set(masked.tests?.map(({ name }) => name)).size).toBe(4);
  expect(unmaskLab(masked, worded)).toEqual({ lab: worded, lost: [] });
});

test("a masked test that was moved gets its secret back if only one is possible, and is refused otherwise", () => {
  const [http, , config] = maskLab(worded).tests!;
  const moved = (one: typeof http) => unmaskLab({ ...worded, tests: [{ ...one!, name: "new" }] }, worded);
  expect(moved(http)).toEqual({ lab: { ...worded, tests: [{ ...worded.tests![0], name: "new" }] }, lost: [] });
  expect(moved(config).lost).toEqual(["/tests/0"]);
});

test("of two texts that look alike without their secrets, the remaining one is not guessed", () => {
  const { lab: known } = readIntent("name: x\nnodes:\n  r1: {template: linux, exec: [login password a, login password b]}\n") as {
    lab: Lab;
  };
  const masked = maskLab(known);
  const [r1] = masked.nodes;
  const edited = (exec: readonly string[]) => unmaskLab({ ...masked, nodes: [{ ...r1!, exec }] }, known);
  expect(edited([r1!.exec[1]!]).lost).toEqual(["/nodes/r1/exec/0"]);
  expect(edited([...r1!.exec]).lab.nodes[0]?.exec).toEqual(["login password a", "login password b"]);
});

test("a plan shows the secrets of no label, file and text of the lab", () => {
  const field = (name: string, value: unknown): Change => ({ field: name, before: null, after: value });
  const shown = maskAction({
    changes: [
      field("labels.password", "hunter2"),
      field("labels.site", "north"),
      field("files./srv/api-token", "hunter2\n"),
      field("env.OPTIONS", "--password=hunter2"),
      field("description", "the password is hunter2"),
      field("texts", [{ text: "password hunter2", x: 1, y: 2 }]),
    ],
  }).changes;
  expect(JSON.stringify(shown)).not.toContain("hunter2");
  expect(shown.map(({ field: name, sensitive = false }) => [name, sensitive])).toEqual([
    ["labels.password", true],
    ["labels.site", false],
    ["files./srv/api-token", true],
    ["env.OPTIONS", true],
    ["description", true],
    ["texts", true],
  ]);
});

test("the time to restore the secrets of a lab grows with its size, also if all its texts look alike", () => {
  const count = 20_000;
  const texts = Array.from({ length: count }, (_, index) => ({ text: `password hunter${index}`, x: index, y: 0 }));
  const tests = Array.from({ length: 500 }, (_, index) => ({
    ...worded.tests![0]!,
    name: `t${index}`,
    check: { kind: "command", run: `echo ${"x".repeat(5000)} password ${index}`, exit: 0 } as const,
  }));
  const known: Lab = { ...worded, texts, tests };
  const masked = maskLab(known);
  const started = process.cpuUsage();
  expect(unmaskLab(masked, known)).toEqual({ lab: known, lost: [] });
  const renamed = { ...masked, tests: masked.tests!.map((one) => ({ ...one, name: `${one.name} new` })) };
  expect(unmaskLab(renamed, known).lost).toHaveLength(500);
  const { user, system } = process.cpuUsage(started);
  expect((user + system) / 1e6).toBeLessThan(20);
});
