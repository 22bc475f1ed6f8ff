import { type AddressInfo, connect as connectTcp, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { serve } from "./served.ts";

/** Passes bytes on to the service, until its connections are cut. */
async function cuttableProxy(port: number): Promise<{ readonly port: number; cut(): number; close(): void }> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connectTcp(port, "127.0.0.1");
    open.add(near);
    near.once("close", () => open.delete(near));
    near.pipe(far).pipe(near);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    const { size } = open;
    for (const socket of open) socket.resetAndDestroy();
    return size;
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    close: () => {
      cut();
      server.close();
    },
  };
}

test("the SDK's events go on after the network broke, with nothing missed and nothing twice", async () => {
  await using served = await serve({ service: { events: { heartbeatMs: 100, intervalMs: 50 }, statusIntervalMs: 20 } });
  const proxy = await cuttableProxy(Number(new URL(served.url).port));
  const credentials = { username: "ann", password: "ann-password" };
  using near = connect({ url: served.url, pin: served.fingerprint, credentials });
  using far = connect({ url: `https://127.0.0.1:${proxy.port}`, pin: served.fingerprint, credentials });
  const lab = "/cut";
  await near.deployProject({ yaml: "name: cut\nnodes:\n  r1: {template: frr}\n" });
  const states: unknown[] = [];
  const ids: string[] = [];
  using events = await far.events({ lab, types: "node" });
  const listening = (async () => {
    for await (const { id, type, data } of events) {
      if (type === "heartbeat") continue;
      ids.push(id);
      states.push(type === "node" ? (data as { status: string }).status : data);
    }
  })();
  for (const [round, action] of ["stop", "start", "stop"].entries()) {
    // Twice from a connection that was cut, so that what happens meanwhile is to be made up for.
    if (round > 0) expect(proxy.cut()).toBeGreaterThan(0);
    await near.execProject({ lab, action, node: "r1" });
    await expect.poll(() => states.length).toBe(round + 1);
  }
  expect(states).toEqual(["stopped", "running", "stopped"]);
  expect(new Set(ids).size).toBe(3);
  events[Symbol.dispose]();
  await listening;
  proxy.close();
});
