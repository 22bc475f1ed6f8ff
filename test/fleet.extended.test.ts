import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { machineNames, noMachines, TestMachines } from "./machines.fixture.ts";

const lab = (name: string) => `name: ${name}
nodes:
  h1: {template: linux, exec: [ip address add 10.0.0.1/24 dev eth0]}
  h2: {template: linux, exec: [ip address add 10.0.0.2/24 dev eth0]}
links: [[h1:eth0, h2:eth0]]
`;

test.skipIf(noMachines)(
  "three machines are one Labwright; labs of one that loses its power start elsewhere, once, and it ends what it has lost",
  async () => {
    await using machines = await TestMachines.make(77);
    const { base } = machines;
    const [run, machineOf, powerOff] = [machines.run.bind(machines), machines.machineOf.bind(machines), machines.powerOff.bind(machines)];
    for (const count of [1, 2, 3, 4]) await writeFile(join(base, `lab${count}.yaml`), lab(`lab${count}`));
    await machines.startAll();
    for (const count of [1, 2]) {
      for (const name of ["alpha", "beta"]) await run("alpha", "machines", "cordon", name);
      await run("alpha", "apply", "-t", `lab${count}.yaml`, "--yes");
    }
    for (const name of ["alpha", "beta"]) await run("gamma", "machines", "uncordon", name);
    await run("alpha", "machines", "cordon", "gamma");
    for (const count of [3, 4]) await run("alpha", "apply", "-t", `lab${count}.yaml`, "--yes");
    for (const at of machineNames) {
      expect(await machineOf(at, "/lab1")).toBe("gamma");
      for (const count of [1, 2, 3, 4])
        expect(await run(at, "exec", "h1", "--lab", `lab${count}`, "--", "ping", "-c", "1", "10.0.0.2")).toContain(" 0% packet loss");
    }
    await writeFile(join(base, "large"), Buffer.alloc(3_000_000, "labwright"));
    await run("beta", "cp", "large", "h1:/root/", "--lab", "lab1");
    await run("alpha", "cp", "h1:/root/large", "back", "--lab", "lab1");
    expect((await readFile(join(base, "back"))).equals(await readFile(join(base, "large")))).toBe(true);

    await run("beta", "resume", "--lab", "lab1", "--after-reboot", "always");
    await powerOff("gamma");
    await expect.poll(() => machineOf("alpha", "/lab2"), { timeout: 15_000, interval: 500 }).toBe("lost gamma");
    expect(await run("alpha", "exec", "h1", "--lab", "lab3", "--", "ping", "-c", "1", "10.0.0.2")).toContain(" 0% packet loss");
    await expect(run("beta", "destroy", "--lab", "lab2", "--yes")).rejects.toThrow("machine_unreachable");
    await expect.poll(() => machineOf("alpha", "/lab1"), { timeout: 60_000, interval: 500 }).toMatch(/^(alpha|beta)$/);
    const taker = await machineOf("alpha", "/lab1");
    const ping = ["exec", "h1", "--lab", "lab1", "--", "ping", "-c", "1", "-w", "5", "10.0.0.2"] as const;
    await expect
      .poll(() => run("beta", ...ping).catch((error: Error) => error.message), { timeout: 30_000, interval: 500 })
      .toContain(" 0% packet loss");

    await machines.start("gamma");
    await expect.poll(() => machineOf("gamma", "/lab2"), { timeout: 30_000, interval: 500 }).toBe("gamma");
    expect(await machineOf("gamma", "/lab1")).toBe(taker);
    // Its own copy has ended, and its disks are kept.
    await expect.poll(() => run("gamma", "disks"), { timeout: 30_000, interval: 500 }).toContain("/lab1");
    for (const count of [1, 2, 3, 4]) await run("gamma", "destroy", "--lab", `lab${count}`, "--yes");
    expect(await run("alpha", "labs")).toContain("no labs yet");
  },
  300_000,
);
