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
import { idRange } from "../src/hosts/local/idmap.ts";
import { localPaths } from "../src/hosts/local/paths.ts";
import { openSandbox } from "../src/hosts/local/sandbox-client.ts";
import { startService } from "./service.ts";

/** MB/s of one stream over each path, in rounds that take turns. */
export interface Streams {
  readonly service: readonly number[];
  readonly tls: readonly number[];
  readonly tcp: readonly number[];
}

const warmMs = 300;

/** What arrives in `ms`, MB/s. */
async function rate(stream: Duplex, ms: number): Promise<number> {
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  stream.on("error", () => stream.destroy());
  await delay(warmMs);
  const [begin, from] = [performance.now(), bytes];
  await delay(ms);
  const result = (bytes - from) / (performance.now() - begin) / 1000;
  stream.destroy();
  return result;
}

/** One endless stream from a process that makes it, through the service and through relays that do nothing else, each a process of its own. */
export async function streamFromMemory(rounds: number, ms = 1500): Promise<Streams> {
  const dir = await mkdtemp(join(tmpdir(), "labwright-bench-"));
  const socket = join(dir, "source");
  const children: ChildProcess[] = [];
  const start = async (role: string): Promise<readonly [string, string]> => {
    const child = spawn(process.execPath, [join(import.meta.dirname, "console-relays.ts"), role, socket], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
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
    const results: Record<keyof Streams, number[]> = { service: [], tls: [], tcp: [] };
    for (let round = 0; round < rounds; round++) {
      for (const path of ["service", "tls", "tcp"] as const) results[path].push(await rate(await opened[path](), ms));
    }
    return results;
  } finally {
    for (const child of children) child.kill("SIGTERM");
    await rm(dir, { recursive: true, force: true });
  }
}

/** What a real node writes to its terminal, through the service and from the holder's own socket, MB/s. */
export async function streamFromTerminal(
  rounds: number,
  ms = 1500,
): Promise<{ readonly service: readonly number[]; readonly holder: readonly number[] }> {
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
    const results = { service: [] as number[], holder: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      results.holder.push(await rate(await sandbox.console(native), ms));
      results.service.push(await rate(await client.openConsole({ lab: "/stream", node: "h1" }), ms));
      // The service lets go of a console that talks to nobody.
      await delay(200);
    }
    return results;
  } finally {
    await service.close();
  }
}
