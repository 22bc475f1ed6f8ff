import { execFile } from "node:child_process";
import { chmod, copyFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { labOf, testLocalHost } from "../src/hosts/local/testing/test-local-host.fixture.ts";

const run = promisify(execFile);

export interface LinkFigures {
  /** TCP throughput, Mbit/s, of each round. */
  readonly rate: readonly number[];
  /** Median round trip of each round, µs. */
  readonly roundTrip: readonly number[];
  /** Received UDP packets per second at maximum send rate, of each round. */
  readonly packets: readonly number[];
}

/** veth: a bare pair between two namespaces; link: a link of a lab; shaped, delayed: that link through the shaper; switch: two ports of a VLAN-aware switch. */
export type LinkKind = "veth" | "link" | "shaped" | "delayed" | "switch";

/** The delay of `delayed` in each direction, ms. */
export const addedDelay = 10;

const rounds = 7;

const host = (key: string, last: number) => `  ${key}: {template: linux, exec: ["ip addr add 10.0.0.${last}/24 dev eth0"]}`;

const lab = `name: link
nodes:
${host("h1", 1)}
${host("h2", 2)}
${host("s1", 1)}
${host("s2", 2)}
  sw: {template: switch, switching: {interfaces: {eth1: {vlan: 10}, eth2: {vlan: 10}}}}
links:
  - ["h1:eth0", "h2:eth0"]
  - ["sw:eth1", "s1:eth0"]
  - ["sw:eth2", "s2:eth0"]
`;

/** Measures each kind of link with the same two programs, alternately, so that all kinds have the same load of the machine. */
export async function linkFigures(): Promise<Readonly<Record<LinkKind, LinkFigures>>> {
  await using local = await testLocalHost();
  const program = join(dirname(local.paths.state), "link_ends.py");
  await copyFile(join(import.meta.dirname, "link_ends.py"), program);
  await chmod(program, 0o755);
  await local.deploy("/link", labOf(lab));
  for (const host of ["h1", "s1"]) while ((await local.exec("/link", host, "ping", "-c1", "-W1", "10.0.0.2")).code !== 0);
  const ids = local.ids("/link");
  const link = ids.links["h1:eth0 -- h2:eth0"]!;
  const sandbox = await local.sandbox("/link");
  const pids = new Map((await sandbox.info()).nodes.map(({ id, pid }) => [String(id), String(pid)]));
  const pidsOf = (...nodes: readonly string[]) => nodes.map((node) => pids.get(ids.nodes[node]!)!);
  const figures = () => ({ rate: [] as number[], roundTrip: [] as number[], packets: [] as number[] });
  const all: Record<LinkKind, ReturnType<typeof figures>> = {
    veth: figures(),
    link: figures(),
    shaped: figures(),
    delayed: figures(),
    switch: figures(),
  };
  const [left, right] = [`lwbench${process.pid}a`, `lwbench${process.pid}b`];
  const ip = (...argv: readonly string[]) => run("ip", argv);
  try {
    // If the creation failed, its error is the one to report.
    for (const name of [left, right]) await ip("netns", "add", name);
    await ip("-n", left, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", right);
    for (const [n, name] of [left, right].entries()) {
      await ip("-n", name, "addr", "add", `10.0.0.${n + 1}/24`, "dev", "eth0");
      await ip("-n", name, "link", "set", "eth0", "up");
    }
    const bare = [left, right].map((name) => `/run/netns/${name}`);
    for (let round = 0; round < rounds; round++) {
      for (const kind of Object.keys(all) as LinkKind[]) {
        // A bandwidth that is never reached: it adds the shaper without an effect.
        const quality = { shaped: { bandwidth: 1e8 }, delayed: { delay: addedDelay } }[kind as string];
        const side = quality && { delay: 0, jitter: 0, loss: 0, bandwidth: 0, ...quality };
        const inLab = kind === "switch" ? pidsOf("s1", "s2") : pidsOf("h1", "h2");
        if (kind !== "veth") await local.session.setLinkQuality("/link", link, side ? { a: side, b: side } : {}, { save: false });
        const stdout =
          kind === "veth"
            ? (await run("/usr/bin/python3", [program, ...bare])).stdout
            : told(await sandbox.run(["python3", program, ...inLab.map((pid) => `/proc/${pid}/ns/net`)]));
        const { rate, round_trip, packets } = JSON.parse(stdout) as { rate: number; round_trip: number; packets: number };
        all[kind].rate.push(rate);
        all[kind].roundTrip.push(round_trip);
        all[kind].packets.push(packets);
      }
    }
  } finally {
    for (const name of [left, right]) await ip("netns", "delete", name).catch(() => undefined);
  }
  return all;
}

function told({ code, stdout, stderr }: { readonly code: number; readonly stdout: string; readonly stderr: string }): string {
  if (code !== 0) throw new Error(`link_ends.py ended with ${code}: ${stderr.slice(0, 500)}`);
  return stdout;
}
