import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openUsers } from "../accounts/users.ts";
import { freePort } from "../testing/free-port.fixture.ts";
import { eventually, labOf, noIds, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { PublishedPorts } from "./published-ports.ts";

/** Ports of the machine that lead to nodes: real sockets, one lab for all tests. */

const at = "/published";
let local: TestLocalHost;
/** Free ports of the machine: taken by a test's own servers, and given back. */
let free: readonly [number, number];

/** h1 returns at port 80 what it gets, and ends its side after the client has. With a short queue, a busy machine refuses connections. */
const yaml = (ports: readonly string[]) => `
name: published
nodes:
  h1:
    template: linux
    ports: ${JSON.stringify(ports)}
    exec: ["socat -t 60 TCP-LISTEN:80,fork,reuseaddr,backlog=128 PIPE &"]
  h2: {template: linux}
`;

beforeAll(async () => {
  local = await testLocalHost();
  free = [await freePort(), await freePort()];
  await local.deploy(at, labOf(yaml([`${free[0]}:80`])));
});
afterAll(() => local[Symbol.asyncDispose]());

/** Sends the text, ends this side and returns what comes back; an error's code if the connection fails. */
async function ask(port: number, text: string, host = "127.0.0.1"): Promise<string> {
  const socket: Socket = connect({ host, port, allowHalfOpen: true });
  let answer = "";
  socket.on("data", (chunk: Buffer) => {
    answer += chunk;
  });
  socket.end(text);
  try {
    await once(socket, "end");
    return answer;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "";
  } finally {
    socket.destroy();
  }
}

const answers = (port: number, host?: string) =>
  eventually(
    `port ${port} answers`,
    30_000,
    () => ask(port, "hello", host),
    (answer) => answer === "hello",
  );

async function power(name: string, step: { readonly do: "start" } | { readonly do: "stop"; readonly mode: 1 }): Promise<void> {
  const operation = {
    id: name,
    of: name,
    op: step.do,
    kind: "node" as const,
    key: name,
    reason: { code: "requested" as const, text: "test" },
    disruption: "none" as const,
    affects: [],
    changes: [],
    prune: false,
    step: { ...step, node: name },
  };
  await local.session.apply(at, [operation], { ids: local.ids(at), step: () => undefined });
}

test("connections on both loopback addresses reach the node, many at once, and each side can end alone", async () => {
  await answers(free[0]);
  await answers(free[0], "::1");
  const large = "x".repeat(1_000_000);
  const got = await Promise.all(Array.from({ length: 40 }, (_, i) => ask(free[0], `${i} ${i === 7 ? large : ""}`)));
  expect(got.map((text) => text.split(" ")[0])).toEqual(got.map((_, i) => String(i)));
  expect(got[7]).toBe(`7 ${large}`);
});

test("a change is live: the old port closes, the new one opens, and a port where nothing listens is reset", async () => {
  const { plan } = await local.deploy(at, labOf(yaml([`${free[1]}:80`, `${free[0]}:81`])));
  expect(plan.operations.map(({ disruption }) => disruption)).toEqual(["none"]);
  await answers(free[1]);
  expect(await ask(free[0], "hello")).toBe("ECONNRESET");
  await local.deploy(at, labOf(yaml([`${free[0]}:80`])));
  expect(await ask(free[1], "hello")).toBe("ECONNREFUSED");
  await answers(free[0]);
});

test("a stop closes the port, and a start opens it; with another program at the port, the start says so and nothing runs", async () => {
  await power("h1", { do: "stop", mode: 1 });
  expect(await ask(free[0], "hello")).toBe("ECONNREFUSED");
  const other = createServer((client) => client.end("other")).listen(free[0], "127.0.0.1");
  await once(other, "listening");
  await expect(power("h1", { do: "start" })).rejects.toMatchObject({
    code: "host_error",
    message: expect.stringContaining(`port ${free[0]} of 127.0.0.1, which node h1 publishes (${free[0]}:80) is used by another program`),
  });
  expect((await local.session.status(at)).nodes.find(({ name }) => name === "h1")?.status).toBe("stopped");
  other.close();
  await power("h1", { do: "start" });
  await answers(free[0]);
});

test("a port of another lab is refused with the change undone, and the lab that has it keeps it", async () => {
  const second = (port: number) => labOf(`name: second\nnodes: {x1: {template: linux, ports: ["${port}:80"]}}\n`);
  await local.deploy("/second", second(free[1]));
  await expect(local.deploy("/second", second(free[0]))).rejects.toThrow("is used by another lab");
  expect((await local.session.observe("/second"))?.nodes[0]?.ports).toEqual([`${free[1]}:80`]);
  await answers(free[0]);
  expect(await ask(free[1], "hello")).toBe("ECONNRESET");
  await local.deploy("/second", null);
  expect(await ask(free[1], "hello")).toBe("ECONNREFUSED");
});

test("ports are open again after a restart of the service", async () => {
  await local.reopen();
  await local.session.labs();
  await answers(free[0]);
});

test("a connection of another client in the node survives a restart of the service, which does not take its relay for a lost holder", async () => {
  const stream = await (await local.sandbox(at)).connect(Number(local.ids(at).nodes["h1"]), 80);
  await local.reopen();
  await local.session.labs();
  stream.end("still here");
  expect(await text(stream)).toBe("still here");
  expect(local.warnings).toEqual([]);
});

test("a port that another program has when the service starts stays closed alone, is reported, and opens when it is free", async () => {
  await local.deploy(at, labOf(yaml([`${free[0]}:80`, `${free[1]}:80`])));
  let other = createServer();
  await local.reopen(async () => {
    other = createServer((client) => client.end("other")).listen(free[0], "127.0.0.1");
    await once(other, "listening");
  });
  await local.session.labs();
  await answers(free[1]);
  const closed = async () => (await local.session.status(at)).nodes.find(({ name }) => name === "h1")?.closed_ports;
  expect(await closed()).toEqual([
    expect.stringContaining(`port ${free[0]} of 127.0.0.1, which node h1 publishes (${free[0]}:80) is used by another program`),
  ]);
  // A change of another node goes on, and the port stays missing.
  await power("h2", { do: "stop", mode: 1 });
  await power("h2", { do: "start" });
  expect(await closed()).toHaveLength(1);
  other.close();
  await answers(free[0]);
  expect(await closed()).toBeUndefined();
});

test("only an admin publishes low ports or other addresses", async () => {
  await openUsers(join(local.paths.state, "users.json")).put("eve", "eve-eve-eve", "user");
  const eve = await local.host.login("eve", "eve-eve-eve");
  for (const port of ["80:80", `0.0.0.0:${free[1]}:80`]) {
    const { plan } = await local.plan("/low", labOf(`name: low\nnodes: {x1: {template: linux, ports: ["${port}"]}}\n`));
    const applied = eve.apply("/low", plan.operations, { ids: noIds, step: () => undefined });
    await expect(applied).rejects.toMatchObject({ code: "operation_not_allowed", message: expect.stringContaining(`port ${port}`) });
  }
  expect(await eve.labs()).toEqual([]);
});

test("a client beyond the limit of connections is closed, and the others go on", async () => {
  const clients = Array.from({ length: 140 }, () => connect({ host: "127.0.0.1", port: free[0] }).on("error", () => {}));
  await eventually(
    "some are closed",
    30_000,
    async () => clients.filter(({ closed }) => closed).length,
    (closed) => closed >= 12,
  );
  expect(clients.filter(({ closed }) => closed).length).toBeLessThan(40);
  for (const client of clients) client.destroy();
  await answers(free[0]);
});

test("an owner's labs publish a bounded number of ports, and one change too many opens none", async () => {
  const ports = new PublishedPorts();
  const connectNode = () => Promise.reject(new Error("no node"));
  const many = (count: number) => [{ id: 1, name: "n1", ports: Array.from({ length: count }, (_, i) => `${20_000 + i}:80`) }];
  await expect(ports.set({ id: "a", owner: "eve" }, many(257), connectNode, true)).rejects.toThrow(
    "the labs of eve publish at most 256 ports together: 0 are open, and 257 more are wanted",
  );
  expect(await ask(20_000, "hello")).toBe("ECONNREFUSED");
});
