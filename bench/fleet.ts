import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { connect } from "../src/client/index.ts";
import { cluster } from "../src/service/store/testing/cluster.fixture.ts";
import { measure, type Stream } from "./console.ts";

export interface FleetFigures {
  /** Times of a status, ms, asked of the lab's own machine and of another one in turn. */
  readonly status: { readonly own: readonly number[]; readonly away: readonly number[] };
  /** Alternate rounds: through another machine, and through a relay that ends TLS on both sides. */
  readonly streams: readonly { readonly forwarded: Stream; readonly relay: Stream }[];
}

const calls = 400;

/** Measures calls and streams of a lab at another machine of a fleet of two services on PostgreSQL. */
export async function fleetFigures(rounds: number): Promise<FleetFigures> {
  const dir = await mkdtemp(join(tmpdir(), "labwright-bench-"));
  const socket = join(dir, "source");
  const { url: store } = await (await cluster()).database();
  const children: ChildProcess[] = [];
  const start = async (...args: readonly string[]) => {
    const child = spawn(process.execPath, [join(import.meta.dirname, "console-relays.ts"), ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    const [line] = (await once(child.stdout!, "data")) as [Buffer];
    const [where = "", pin = ""] = line.toString().trim().split(" ");
    return { where, pin, pid: child.pid ?? 0 };
  };
  const credentials = { username: "admin", password: "bench" };
  try {
    await start("source", socket);
    const own = await start("member", socket, store, "https://127.97.0.1:8444", "own");
    using ownClient = connect({ url: own.where, pin: own.pin, credentials });
    await ownClient.login(credentials);
    const { token } = await ownClient.createJoinToken({});
    await ownClient.deployProject({ yaml: "name: stream\nnodes: {r1: {template: linux}}\n" });
    const away = await start("member", socket, store, "https://127.97.0.2:8444", "away", token);
    using awayClient = connect({ url: away.where, pin: away.pin, credentials });
    await awayClient.login(credentials);
    const tls = await start("tls", socket);
    const relay = await start("tls-tls", tls.where);
    await delay(1_000);

    const status = { own: [] as number[], away: [] as number[] };
    for (let call = 0; call < calls; call++) {
      for (const [name, client] of [
        ["own", ownClient],
        ["away", awayClient],
      ] as const) {
        const begin = performance.now();
        await client.getProjectStatus({ lab: "/stream" });
        status[name].push(performance.now() - begin);
      }
    }
    const streams: { forwarded: Stream; relay: Stream }[] = [];
    for (let round = 0; round < rounds; round++) {
      const forwarded = await measure(await awayClient.openConsole({ lab: "/stream", node: "r1" }), away.pid, 1_500);
      const stream = connectTls({ host: "127.0.0.1", port: Number(relay.where), rejectUnauthorized: false });
      await once(stream, "secureConnect");
      streams.push({ forwarded, relay: await measure(stream, relay.pid, 1_500) });
    }
    return { status, streams };
  } finally {
    for (const child of children) child.kill("SIGTERM");
    await rm(dir, { recursive: true, force: true });
  }
}
