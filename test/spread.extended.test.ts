import { existsSync, readdirSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type MachineName, machineNames, noMachines, TestMachines } from "./machines.fixture.ts";

const count = 12;
const name = (at: number) => `r${((at + count) % count) + 1}`;

/** A ring in which each link has a network of its own; `more` adds nodes and links. */
function ring(more: { readonly nodes?: string; readonly links?: string } = {}): string {
  const nodes = Array.from(
    { length: count },
    (_, at) =>
      `  ${name(at)}: {template: linux, exec: [ip address add 10.0.${at}.1/24 dev eth0, ip address add 10.0.${(at + count - 1) % count}.2/24 dev eth1]}`,
  );
  const links = Array.from({ length: count }, (_, at) => `  - ["${name(at)}:eth0", "${name(at + 1)}:eth1"]`);
  return `name: ring\nplace: spread\nnodes:\n${nodes.join("\n")}\n${more.nodes ?? ""}links:\n${links.join("\n")}\n${more.links ?? ""}`;
}

interface Plan {
  readonly spread?: {
    readonly machines: readonly { readonly machine: MachineName; readonly nodes: readonly string[] }[];
    readonly links: readonly { readonly link: string; readonly machines: readonly string[]; readonly mtu: number }[];
  };
}

test.skipIf(noMachines)(
  "a ring over three machines is one lab: its links between machines are links like all others, and destroy leaves nothing on any machine",
  { timeout: 600_000 },
  async () => {
    await using machines = await TestMachines.make(79);
    const { base } = machines;
    const run = machines.run.bind(machines);
    await writeFile(join(base, "ring.yaml"), ring());
    await machines.startAll();
    // With changes to make, plan ends with a code of its own.
    const text = await run("alpha", "plan", "-t", "ring.yaml").catch((error: Error) => error.message);
    expect(text).toMatch(/Spread over machines:\n {2}alpha: 4 nodes .*\n {2}beta: 4 nodes .*\n {2}gamma: 4 nodes/);
    expect(text).toMatch(/between machines: 3 new or changed links: .*MTU 1450/);
    const planned = JSON.parse(await run("alpha", "plan", "-t", "ring.yaml", "--format", "json").catch(jsonOf)) as Plan;
    const [cut] = planned.spread!.links;
    await run("alpha", "apply", "-t", "ring.yaml", "--yes");
    for (const at of machineNames) expect(await run(at, "labs")).toMatch(/\/ring/);
    expect((await run("alpha", "labs")).match(/\/ring/g)).toHaveLength(1);

    const ping = (node: number, ...more: readonly string[]) =>
      run("beta", "exec", name(node), "--lab", "ring", "--", "ping", "-c", "1", "-w", "5", ...more, `10.0.${node}.2`);
    for (let node = 0; node < count; node++) expect(await ping(node)).toContain(" 0% packet loss");
    // A frame of the full size of the link between the machines.
    const [from = "", to = ""] = cut!.link.split(" -- ");
    const at = Number(/r(\d+):eth0/.exec(cut!.link)![1]) - 1;
    expect(await ping(at, "-s", "1422", "-M", "do")).toContain(" 0% packet loss");
    expect((await run("gamma", "exec", "--lab", "ring", "--", "hostname")).match(/r\d+/g)!.length).toBeGreaterThanOrEqual(count);
    expect((await run("gamma", "status", "--lab", "ring")).match(/running/g)!.length).toBeGreaterThanOrEqual(count);
    // The same text changes nothing.
    expect(await run("alpha", "plan", "-t", "ring.yaml").catch((error: Error) => error.message)).toContain("no changes");

    await run("alpha", "link", from, to, "--lab", "ring", "--delay", "100");
    expect(Number(/time=([\d.]+)/.exec(await ping(at))![1])).toBeGreaterThanOrEqual(200);
    expect(await run("beta", "link", from, to, "--lab", "ring")).toMatch(/100/);
    await run("gamma", "link", from, to, "--lab", "ring", "--clear");
    await run("gamma", "link", from, to, "--lab", "ring", "--suspend");
    const carrier = (end: string) => {
      const [node = "", interfaceName = ""] = end.split(":");
      return run("alpha", "exec", node, "--lab", "ring", "--", "cat", `/sys/class/net/${interfaceName}/carrier`).then((text) =>
        text.trim(),
      );
    };
    expect([await carrier(from), await carrier(to)]).toEqual(["0", "0"]);
    await run("alpha", "link", from, to, "--lab", "ring", "--resume");
    expect([await carrier(from), await carrier(to)]).toEqual(["1", "1"]);
    expect(await ping(at)).toContain(" 0% packet loss");

    // Each end of the link, of which one is not on the home machine.
    for (const [end, index] of [[from, 0] as const, [to, 1] as const]) {
      const file = join(base, `${index}.pcapng`);
      const capture = run("beta", "capture", end, "--lab", "ring", "--write", file, "--count", "2");
      await expect.poll(() => ping(at).then(() => existsSync(file) && statSync(file).size > 0), { timeout: 20_000 }).toBe(true);
      await ping(at);
      await capture;
    }

    // A node that stops takes the carrier of the other end away, on the other machine too.
    const [left = "", right = ""] = [from, to].map((end) => end.split(":")[0]!);
    await run("alpha", "stop", left, "--lab", "ring");
    expect(await carrier(to)).toBe("0");
    await run("alpha", "start", left, "--lab", "ring");
    await expect.poll(() => ping(at).catch((error: Error) => error.message), { timeout: 30_000 }).toContain(" 0% packet loss");

    // A new node is placed beside its neighbour; the others stay where they are.
    const where = async () => JSON.parse(await run("alpha", "plan", "-t", "ring.yaml", "--format", "json").catch(jsonOf)) as Plan;
    await writeFile(
      join(base, "ring.yaml"),
      ring({
        nodes: "  new: {template: linux, exec: [ip address add 10.1.0.1/24 dev eth0]}\n",
        links: `  - ["new:eth0", "${right}:eth2"]\n`,
      }),
    );
    const after = await where();
    for (const { machine, nodes } of planned.spread!.machines)
      expect(after.spread!.machines.find((one) => one.machine === machine)!.nodes).toEqual(expect.arrayContaining([...nodes]));
    expect(after.spread!.links).toEqual([]);
    await run("beta", "apply", "-t", "ring.yaml", "--yes");
    expect(await run("gamma", "exec", "new", "--lab", "ring", "--", "hostname")).toContain("new");
    for (let node = 0; node < count; node++) expect(await ping(node)).toContain(" 0% packet loss");

    // The part of a machine that is lost is shown, and nothing of it is made again.
    const home = (await machines.machineOf("alpha", "/ring")) as MachineName;
    const [lost] = machineNames.filter((one) => one !== home);
    const other = machineNames.find((one) => one !== home && one !== lost)!;
    const nodeOf = (machine: MachineName) =>
      after.spread!.machines.find((one) => one.machine === machine)!.nodes.find((one) => one !== "new")!;
    await machines.powerOff(lost!);
    await expect
      .poll(() => run(other, "status", "--lab", "ring"), { timeout: 40_000, interval: 1_000 })
      .toContain(`the machine ${lost} does not answer`);
    expect(await run(other, "plan", "-t", "ring.yaml").catch((error: Error) => error.message)).toContain("no changes");
    expect(await run(other, "exec", nodeOf(home), "--lab", "ring", "--", "hostname")).toContain(nodeOf(home));
    await expect(run(other, "exec", nodeOf(lost!), "--lab", "ring", "--", "hostname")).rejects.toThrow("does not answer");
    await machines.start(lost!);
    await expect
      .poll(() => run(other, "start", "--lab", "ring").catch((error: Error) => error.message), { timeout: 60_000, interval: 2_000 })
      .not.toContain("does not answer");
    for (let node = 0; node < count; node++)
      await expect.poll(() => ping(node).catch((error: Error) => error.message), { timeout: 60_000 }).toContain(" 0% packet loss");

    // Destroyed while a machine is away: that machine ends its part when it is back.
    await machines.powerOff(lost!);
    await expect
      .poll(() => run(other, "status", "--lab", "ring"), { timeout: 40_000, interval: 1_000 })
      .toContain(`the machine ${lost} does not answer`);
    expect(await run(other, "destroy", "--lab", "ring", "--yes", "--format", "json")).toContain(
      "it is removed there when the machine is back",
    );
    await machines.start(lost!);
    for (const machine of machineNames) {
      await expect.poll(() => readdirSync(join(machines.state(machine), "labs")), { timeout: 90_000, interval: 1_000 }).toEqual([]);
      expect(machines.devices(machine, "vxlan")).toBe("");
      expect(machines.rules(machine)).not.toMatch(/labwright_[0-9a-f_]+_vxlan/);
    }
    for (const machine of machineNames) expect(await run(machine, "labs")).toContain("no labs yet");
  },
);

function jsonOf({ message }: Error): string {
  return message.slice(message.indexOf("{"));
}
