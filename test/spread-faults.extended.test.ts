import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type MachineName, machineNames, noMachines, TestMachines } from "./machines.fixture.ts";

const count = 9;
const name = (at: number) => `r${((at + count) % count) + 1}`;
const nodes = Array.from(
  { length: count },
  (_, at) =>
    `  ${name(at)}: {template: linux, exec: [ip address add 10.0.${at}.1/24 dev eth0, ip address add 10.0.${(at + count - 1) % count}.2/24 dev eth1]}`,
);
const links = Array.from({ length: count }, (_, at) => `  - ["${name(at)}:eth0", "${name(at + 1)}:eth1"]`);
const ring = `name: ring\nplace: spread\nnodes:\n${nodes.join("\n")}\nlinks:\n${links.join("\n")}\n`;

test.skipIf(noMachines)(
  "a spread lab whose deploy is cut by the end of a machine is finished by apply, and goes on without a machine that is removed",
  { timeout: 600_000 },
  async () => {
    await using machines = await TestMachines.make(83);
    const run = (machine: MachineName, ...words: readonly string[]) =>
      machines.run(machine, ...words).catch((error: Error) => error.message);
    await writeFile(join(machines.base, "ring.yaml"), ring);
    await machines.startAll();
    const allPing = async (at: MachineName) => {
      for (let node = 0; node < count; node++) {
        const ping = () => run(at, "exec", name(node), "--lab", "ring", "--", "ping", "-c", "1", "-w", "3", `10.0.${node}.2`);
        await expect.poll(ping, { timeout: 60_000, interval: 500 }).toContain(" 0% packet loss");
      }
    };
    // A plan keeps the machine for the deploy.
    const home = /Machine: (\w+)/.exec(await run("alpha", "plan", "-t", "ring.yaml"))![1] as MachineName;
    const [lost, other] = machineNames.filter((machine) => machine !== home) as [MachineName, MachineName];
    const deploying = run(home, "deploy", "-t", "ring.yaml", "--yes");
    await expect.poll(() => machines.labIds(lost), { timeout: 60_000, interval: 5 }).not.toEqual([]);
    await machines.powerOff(lost);
    await deploying;
    // Its nodes may be there, so they are not made elsewhere.
    expect(await run(home, "apply", "-t", "ring.yaml", "--yes")).toContain(`the machine ${lost} does not answer`);
    await machines.start(lost);
    const apply = () => run(other, "apply", "-t", "ring.yaml", "--yes");
    await expect.poll(apply, { timeout: 120_000, interval: 1_000 }).toMatch(/applied|no changes/);
    // The nodes that ended with the machine.
    await run(other, "start", "--lab", "ring");
    await allPing(other);
    expect((await run(other, "status", "--lab", "ring")).match(/ running /g)).toHaveLength(count);

    // Without a machine that is removed, its nodes are made on the others.
    await machines.powerOff(lost);
    await expect.poll(() => run(home, "machines", "list"), { timeout: 40_000, interval: 1_000 }).toMatch(new RegExp(`${lost} +no answer`));
    expect(await run(home, "machines", "list")).toMatch(new RegExp(`${lost} .* 0 \\+ parts of 1`));
    await machines.run(home, "machines", "remove", lost, "--yes");
    expect(await run(home, "apply", "-t", "ring.yaml", "--yes")).toContain("applied");
    await allPing(other);
    expect(await run(other, "status", "--lab", "ring")).not.toContain(lost);
    await machines.run(other, "destroy", "--lab", "ring", "--yes");
    for (const machine of [home, other]) {
      await expect.poll(() => machines.labIds(machine), { timeout: 60_000, interval: 500 }).toEqual([]);
      expect(machines.devices(machine, "vxlan")).toBe("");
    }
  },
);
