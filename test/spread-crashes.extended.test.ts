import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { type MachineName, machineNames, noMachines, TestMachines } from "./machines.fixture.ts";
import { seedOf } from "./seed.ts";

const rounds = 3;
const count = 9;
const name = (at: number) => `r${((at + count) % count) + 1}`;

/** A ring of linux nodes. `more`: one more node with two links. */
function ring(more: boolean): string {
  const nodes = Array.from(
    { length: count },
    (_, at) =>
      `  ${name(at)}: {template: linux, exec: [ip address add 10.0.${at}.1/24 dev eth0, ip address add 10.0.${(at + count - 1) % count}.2/24 dev eth1]}`,
  );
  const links = Array.from({ length: count }, (_, at) => `  - ["${name(at)}:eth0", "${name(at + 1)}:eth1"]`);
  if (more) {
    nodes.push("  x: {template: linux}");
    links.push('  - ["x:eth0", "r1:eth2"]', '  - ["x:eth1", "r5:eth2"]');
  }
  return `name: ring\nplace: spread\nnodes:\n${nodes.join("\n")}\nlinks:\n${links.join("\n")}\n`;
}

/** The same numbers for the same seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The changes of a round, each with the result that a repetition must have. */
const steps = [
  { text: ring(false), words: ["apply", "-t", "ring.yaml", "--yes"], done: /applied|no changes|deployed/ },
  { text: ring(true), words: ["apply", "-t", "ring.yaml", "--yes"], done: /applied|no changes/ },
  { words: ["stop", "--lab", "ring"], done: /stopped|already/ },
  { words: ["start", "--lab", "ring"], done: /started|already/ },
  { text: ring(false), words: ["apply", "-t", "ring.yaml", "--yes"], done: /applied|no changes/ },
  { words: ["destroy", "--lab", "ring", "--yes"], done: /destroyed|does not exist|no lab/ },
] as readonly { readonly text?: string; readonly words: readonly string[]; readonly done: RegExp }[];

test.skipIf(noMachines)(
  "services of a spread lab that end at any moment of a change lose and leave nothing: the same command finishes it",
  { timeout: 120_000 + rounds * 240_000 },
  async () => {
    const draw = random(seedOf(process.env["LABWRIGHT_SEED"]));
    await using machines = await TestMachines.make(84);
    const run = (machine: MachineName, ...words: readonly string[]) =>
      machines.run(machine, ...words).catch((error: Error) => error.message);
    await machines.startAll();
    const pick = () => machineNames[Math.floor(draw() * machineNames.length)]!;
    for (let round = 0; round < rounds; round++) {
      for (const { text, words, done } of steps) {
        if (text !== undefined) await writeFile(join(machines.base, "ring.yaml"), text);
        const [asked, victim, ms] = [pick(), pick(), Math.floor(draw() * 1_500)];
        const changing = run(asked, ...words);
        await delay(ms);
        await machines.crash(victim);
        await changing;
        const label = `round ${round}: ${words.join(" ")} at ${asked}, ${victim} crashes after ${ms} ms`;
        const other = machineNames.find((machine) => machine !== victim)!;
        let last = "";
        await expect
          .poll(async () => (last = await run(other, ...words)), { timeout: 90_000, interval: 500, message: `${label}\n${last}` })
          .toMatch(done);
        const status = await run(other, "status", "--lab", "ring");
        if (words[0] === "start") expect(status, label).not.toMatch(/stopped|failed/);
      }
      for (const machine of machineNames) {
        await expect.poll(() => machines.labIds(machine), { timeout: 60_000, interval: 500 }).toEqual([]);
        expect(machines.devices(machine, "vxlan")).toBe("");
      }
    }
  },
);
