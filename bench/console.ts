import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { connect } from "../src/client/index.ts";
import { idRange } from "../src/hosts/local/machine/idmap.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { openSandbox } from "../src/hosts/local/sandbox/sandbox-client.ts";
import { processorMs } from "./processor-time.ts";
import { startService } from "./service.ts";

/** The result of one stream over one path in one round. */
export interface Stream {
  /** MB/s. */
  readonly rate: number;
  /** Processor time of the relaying process, ms per MB. It does not depend on other load of the machine. */
  readonly cost: number;
}

/** The results of alternate rounds. */
export interface Streams {
  readonly service: readonly Stream[];
  readonly tls: readonly Stream[];
  readonly tcp: readonly Stream[];
}

const warmMs = 300;

/** Returns the number of bytes that arrive in `ms`. */
export async function measure(stream: Duplex, pid: number, ms: number): Promise<Stream> {
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  stream.on("error", () => stream.destroy());
  await delay(warmMs);
  const [begin, from, worked] = [performance.now(), bytes, processorMs(pid)];
  await delay(ms);
  const megabytes = (bytes - from) / 1e6;
  const result = { rate: (1000 * megabytes) / (performance.now() - begin), cost: (processorMs(pid) - worked) / megabytes };
  stream.destroy();
  return result;
}

/** Measures one endless stream through the service and through plain relays, each in a process of its own. */
export async function streamFromMemory(rounds: number, ms = 1500): Promise<Streams> {
  const dir = await mkdtemp(join(tmpdir(), "labwright-bench-"));
  const socket = join(dir, "source");
  const children: ChildProcess[] = [];
  const pids: Record<string, number> = {};
  const start = async (role: string): Promise<readonly [string, string]> => {
    const child = spawn(process.execPath, [join(import.meta.dirname, "console-relays.ts"), role, socket], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    pids[role] = child.pid ?? 0;
    const [line] = (await once(child.stdout!, "data")) as [Buffer];
    const [where = "", pin = ""] = line.toString().trim().split(" ");
    return [where, pin];
  };
  try {
    await start("source");
    const [url, pin] = await start("service");
    const [tlsPort] = await start("tls");
    const [tcpPort] = await start("tcp");
    using client = connect({ url, pin, credentials: { username: "admin", password: "bench" } });
    await client.login({ username: "admin", password: "bench" });
    await client.deployProject({ yaml: "name: stream\nnodes: {r1: {template: linux}}\n" });
    const opened: Readonly<Record<keyof Streams, () => Promise<Duplex>>> = {
      service: () => client.openConsole({ lab: "/stream", node: "r1" }),
      tls: async () => {
        const stream = connectTls({ host: "127.0.0.1", port: Number(tlsPort), rejectUnauthorized: false });
        await once(stream, "secureConnect");
        return stream;
      },
      tcp: async () => {
        const stream = connectTcp({ host: "127.0.0.1", port: Number(tcpPort) });
        await once(stream, "connect");
        return stream;
      },
    };
    const results: Record<keyof Streams, Stream[]> = { service: [], tls: [], tcp: [] };
    for (let round = 0; round < rounds; round++) {
      for (const path of ["service", "tls", "tcp"] as const) results[path].push(await measure(await opened[path](), pids[path] ?? 0, ms));
    }
    return results;
  } finally {
    for (const child of children) child.kill("SIGTERM");
    await rm(dir, { recursive: true, force: true });
  }
}

/** Measures the terminal output of a real node through the service and directly from the holder's socket, MB/s. */
export async function streamFromTerminal(
  rounds: number,
  ms = 1500,
): Promise<{ readonly service: readonly Stream[]; readonly holder: readonly Stream[] }> {
  const service = await startService("embedded");
  try {
    const { client } = service;
    const { state } = await client.deployProject({ yaml: "name: stream\nnodes: {h1: {template: linux}}\n" });
    const { id } = (state as { readonly lab: { readonly id: string } }).lab;
    const { nodes } = state as unknown as { readonly nodes: Readonly<Record<string, { readonly id: string }>> };
    const shared = { ...process.env, LABWRIGHT_RUN_DIR: service.runDir, LABWRIGHT_STATE_DIR: service.stateDir };
    const paths = localPaths(shared, process.getuid?.() ?? 0);
    const sandbox = await openSandbox({ holder: paths.holder, dir: join(service.runDir, id), lab: id, idMap: idRange });
    if (sandbox === null) throw new Error("the lab has no sandbox");
    const native = Number(nodes["h1"]?.id);
    const talk = await sandbox.console(native);
    talk.on("error", () => {}).resume();
    talk.write("stty -opost; head -c 4000000 /dev/zero | tr '\\0' x > /tmp/x; while :; do cat /tmp/x /tmp/x /tmp/x /tmp/x; done\r");
    await delay(1_000);
    talk.destroy();
    const results = { service: [] as Stream[], holder: [] as Stream[] };
    for (let round = 0; round < rounds; round++) {
      results.holder.push(await measure(await sandbox.console(native), sandbox.pid, ms));
      results.service.push(await measure(await client.openConsole({ lab: "/stream", node: "h1" }), service.pid, ms));
      // The service closes its connection to a console without clients.
      await delay(200);
    }
    return results;
  } finally {
    await service.close();
  }
}
