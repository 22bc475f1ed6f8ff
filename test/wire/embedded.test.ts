import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import { openSocket, type Served, serve } from "./served.ts";

let local: TestLocalHost;
let served: Served;

/** Over the embedded host, where consoles are real terminals. */
beforeAll(async () => {
  local = await testLocalHost();
  served = await serve({ host: local.host });
});
afterAll(async () => {
  await local[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

test("a resize in a text frame is the window size that programs in the node see", async () => {
  const client = await served.signIn("admin", "test");
  const deployed = await client.post("/api/v1/projects/deploy", { yaml: "name: size\nnodes:\n  h1: {template: linux}\n" });
  expect(deployed.status).toBe(200);
  const live = async () => (await client.post("/api/v1/projects/status", { lab: "/size" })).json.data.live.nodes[0].status;
  await expect.poll(live).toBe("running");
  const attached = await client.post("/api/v1/console/attach", { lab: "/size", node: "h1" });
  const { socket, heard } = openSocket(served.url, `/api/v1/console/stream/${attached.json.data.stream}`, {
    Authorization: `Bearer ${client.token}`,
  });
  await expect.poll(() => socket.readyState).toBe(socket.OPEN);
  for (const [columns, rows] of [
    [132, 43],
    [90, 20],
  ] as const) {
    socket.send(JSON.stringify({ resize: [columns, rows] }));
    const asked = async () => {
      socket.send(Buffer.from("stty size\r"));
      await new Promise((resolve) => setTimeout(resolve, 50));
      return heard();
    };
    await expect.poll(asked).toContain(`\r\n${rows} ${columns}\r\n`);
  }
  // The last size counts, however fast the window changes.
  for (let columns = 40; columns <= 140; columns++) socket.send(JSON.stringify({ resize: [columns, 30] }));
  await expect
    .poll(
      async () => {
        socket.send(Buffer.from("stty size\r"));
        await new Promise((resolve) => setTimeout(resolve, 50));
        return heard();
      },
      { timeout: 30_000 },
    )
    .toContain("\r\n30 140\r\n");
  socket.terminate();
});

test("states of real nodes are reported as they change, and measurements cause no events", async () => {
  const name = "reported";
  using lab = connect({ url: served.url, pin: served.fingerprint, credentials: { username: "admin", password: "test" } });
  await lab.deployProject({ yaml: `name: ${name}\nnodes:\n  h1: {template: linux}\n  h2: {template: linux}\n` });
  await expect
    .poll(async () =>
      (await lab.getProjectStatus({ lab: `/${name}` })).live?.nodes?.every(({ status, ready }) => status === "running" && ready !== false),
    )
    .toBe(true);
  const states: string[] = [];
  using events = await lab.events({ lab: `/${name}`, types: "node" });
  const listening = (async () => {
    for await (const { type, data } of events) {
      if (type !== "node") continue;
      const { node, status } = data as { node: string; status: string };
      states.push(`${node} ${status}`);
    }
  })();
  await new Promise((resolve) => setTimeout(resolve, 1_600));
  expect(states).toEqual([]);
  await lab.execProject({ lab: `/${name}`, action: "stop", node: "h1", stopmode: 1 });
  await expect.poll(() => states.at(-1), { timeout: 30_000, interval: 10 }).toBe("h1 stopped");
  expect(states.filter((state) => state.startsWith("h2"))).toEqual([]);
  events[Symbol.dispose]();
  await listening;
});
