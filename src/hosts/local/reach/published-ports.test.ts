import { createSocket } from "node:dgram";
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
    exec:
      - socat -t 60 TCP-LISTEN:80,fork,reuseaddr,backlog=128 PIPE &
      - socat UDP4-LISTEN:53,fork SYSTEM:'while read line; do echo $line from $SOCAT_PEERPORT; done' &
      - socat UDP6-LISTEN:54,bind=[::1],fork SYSTEM:'while read line; do echo $line from $SOCAT_PEERPORT; done' &
      - socat -b 65536 UDP4-LISTEN:55,fork PIPE &
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

/** Returns the port from which a datagram arrived in the node. An answer may contain several lines, because senders repeat themselves. */
const portIn = (answer: string) => / from (\d+)/.exec(answer)?.[1] ?? "";

/** A sender with a port of its own. */
class Sender {
  readonly #socket = createSocket("udp4").on("error", () => {});
  readonly #answers: string[] = [];

  constructor() {
    this.#socket.on("message", (data) => this.#answers.push(data.toString().trim()));
  }

  /** Sends the text until an answer comes that starts with it, again after `againMs`. Datagrams may be lost while the node's program starts. */
  async ask(port: number, text: string, againMs = 0): Promise<string> {
    let sentAt = Number.NEGATIVE_INFINITY;
    return eventually(
      `an answer to ${text.slice(0, 20)}`,
      30_000,
      async () => {
        const answer = this.#answers.find((one) => one.startsWith(text));
        if (answer === undefined && performance.now() - sentAt >= againMs) {
          sentAt = performance.now();
          this.#socket.send(`${text}\n`, port, "127.0.0.1");
        }
        return answer ?? "";
      },
      (answer) => answer !== "",
    );
  }

  close(): void {
    this.#socket.close();
  }
}

test("datagrams of each sender arrive from a port of its own, also where only IPv6 listens, with their limits, and beside TCP on the same port", async () => {
  await local.deploy(at, labOf(yaml([`${free[0]}:80`, `${free[0]}:53/udp`, `${free[1]}:54/udp`])));
  const senders = [new Sender(), new Sender()] as const;
  try {
    const port = async (sender: Sender, to: number, text: string) => portIn(await sender.ask(to, text));
    const [first, second] = [await port(senders[0], free[0], "a"), await port(senders[1], free[0], "b")];
    expect(first).toMatch(/^\d+$/);
    expect(second).not.toBe(first);
    expect(await port(senders[0], free[0], "c")).toBe(first);
    expect(await port(senders[0], free[1], "d")).toMatch(/^\d+$/);
    await answers(free[0]);
    await local.deploy(at, labOf(yaml([`${free[1]}:55/udp`])));
    // On a busy machine the text is sent again, and the node's program may answer both in one datagram.
    expect(new Set((await senders[1].ask(free[1], "small")).split("\n"))).toEqual(new Set(["small"]));
    // The node's program holds one such text at a time, and waits for ever for room for a second one.
    const large = "y".repeat(40_000);
    expect(await senders[1].ask(free[1], large, 10_000)).toBe(large);
  } finally {
    for (const sender of senders) sender.close();
    await local.deploy(at, labOf(yaml([`${free[0]}:80`])));
  }
});

test("with more senders than sessions, all are answered, and the one that was silent longest has lost its session", async () => {
  await local.deploy(at, labOf(yaml([`${free[0]}:80`, `${free[0]}:53/udp`])));
  const senders = Array.from({ length: 66 }, () => new Sender());
  try {
    const first = portIn(await senders[0]!.ask(free[0], "n0 "));
    // One after another: the node's program loses datagrams of new senders that come at once.
    const others: string[] = [];
    for (const [number, sender] of senders.entries()) if (number > 0) others.push(portIn(await sender.ask(free[0], `n${number} `)));
    expect(others).not.toContain("");
    expect(portIn(await senders[0]!.ask(free[0], "again"))).not.toBe(first);
  } finally {
    for (const sender of senders) sender.close();
    await local.deploy(at, labOf(yaml([`${free[0]}:80`])));
  }
});

test("a UDP port of another program refuses the change, which names it", async () => {
  const other = createSocket("udp4").bind(free[1], "127.0.0.1");
  await once(other, "listening");
  const wanted = labOf(yaml([`${free[0]}:80`, `${free[1]}:53/udp`]));
  await expect(local.deploy(at, wanted)).rejects.toThrow(
    `UDP port ${free[1]} of 127.0.0.1, which node h1 publishes (${free[1]}:53/udp) is used by another program: choose another port; ss -lunp`,
  );
  other.close();
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
    const [problem, ...others] = await eve.checkPorts!("/low", [{ key: "x1", name: "x1", ports: [port] }]);
    expect([problem, others]).toMatchObject([{ key: "x1", port, problem: expect.stringContaining("only an admin publishes") }, []]);
    expect(await local.session.checkPorts!("/low", [{ key: "x1", name: "x1", ports: [`${await freePort()}:80`] }])).toEqual([]);
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

test("the UDP port of links between machines is not published, also not by an admin: the kernel could not open it for them", async () => {
  const ports = new PublishedPorts([4789]);
  const connectNode = () => Promise.reject(new Error("no node"));
  const lab = { id: "a", owner: "admin" };
  const wanted = (text: string) => [{ id: 1, name: "n1", ports: [text] }];
  const why = "UDP port 4789 of 127.0.0.1, which node n1 publishes (4789:53/udp) is that of the links between machines (VXLAN)";
  await expect(ports.set(lab, wanted("4789:53/udp"), connectNode, true)).rejects.toThrow(why);
  await expect(ports.set(lab, wanted("0.0.0.0:4789:53/udp"), connectNode, true)).rejects.toThrow("UDP port 4789 of 0.0.0.0");
  const [problem] = await ports.check(lab, [{ key: "n1", name: "n1", ports: ["4789:53/udp"] }]);
  expect(problem).toEqual({ key: "n1", port: "4789:53/udp", problem: why, hint: "choose another port" });
  expect(await ports.check(lab, [{ key: "n1", name: "n1", ports: [`${await freePort()}:53/udp`] }])).toEqual([]);
  // One of a release that allowed it stays closed, and the node shows why.
  await ports.set(lab, wanted("4789:53/udp"), connectNode, false);
  expect(ports.missing("a").get(1)).toEqual([`${why}: choose another port`]);
  ports.close("a");
});
