import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noMachines, TestMachines } from "./machines.fixture.ts";

interface Moves {
  readonly moves: readonly { readonly lab: string; readonly state: string; readonly machine?: string; readonly text?: string }[];
}

interface Machines {
  readonly machines: readonly { readonly name: string; readonly memory_mib: number }[];
}

test.skipIf(noMachines)(
  "labs of a drained machine take no room that others have reserved: they move where there is room, or stay until there is",
  { timeout: 600_000 },
  async () => {
    await using machines = await TestMachines.make(80);
    const run = machines.run.bind(machines);
    await machines.startAll();
    await run("alpha", "users", "add", "ann", "--store", machines.store);
    const answer = async <T>(...words: readonly string[]) => JSON.parse(await run("alpha", ...words, "--format", "json")) as T;
    const { machines: rows } = await answer<Machines>("machines", "list");
    const usable = Math.floor(((rows[0]?.memory_mib ?? 0) * 15) / 16);
    for (const name of ["beta", "gamma"]) await run("alpha", "machines", "cordon", name);
    for (const name of ["one", "two"]) {
      writeFileSync(join(machines.base, `${name}.yaml`), `name: ${name}\nnodes:\n  h1: {template: linux, memory: 300}\n`);
      // A kernel without the cgroup controller cannot limit the memory. It counts all the same.
      await run("alpha", "apply", "-t", `${name}.yaml`, "--yes", "--allow-unsupported");
      await run("alpha", "stop", "--lab", name);
    }
    for (const name of ["beta", "gamma"]) await run("alpha", "machines", "uncordon", name);
    // Beside these, beta has room for none of the labs, and gamma for one.
    const reserve = (machine: string, memory: number) =>
      answer<{ readonly id: string }>("reserve", "--user", "ann", "--for", "1h", "--memory", `${memory}M`, "--machine", machine);
    const { id } = await reserve("beta", usable - 100);
    await reserve("gamma", usable - 400);
    const drain = async () =>
      JSON.parse(
        await run("gamma", "machines", "drain", "alpha", "--format", "json").catch((error: Error) =>
          error.message.slice(error.message.indexOf("{")),
        ),
      ) as Moves;
    const first = (await drain()).moves;
    expect(first.filter(({ state }) => state === "moved")).toEqual([expect.objectContaining({ machine: "gamma" })]);
    const [stays] = first.filter(({ state }) => state === "failed");
    expect(stays?.text).toContain("beta has reserved room (other users have reserved room now");
    expect(stays?.text).toContain("gamma has reserved room (other users have reserved room now");
    expect(await machines.machineOf("gamma", stays?.lab ?? "")).toBe("alpha");
    await run("alpha", "reserve", "cancel", id);
    expect((await drain()).moves).toEqual([expect.objectContaining({ lab: stays?.lab, state: "moved", machine: "beta" })]);
    for (const name of ["one", "two"]) await run("gamma", "destroy", "--lab", name, "--yes");
  },
);
