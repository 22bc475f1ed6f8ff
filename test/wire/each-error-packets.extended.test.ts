import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ErrorCode, errors, Failure } from "../../src/contract/errors.ts";
import { commonErrors, type OperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import type { Host, HostSession } from "../../src/hosts/host.ts";
import { openUsers } from "../../src/hosts/local/accounts/users.ts";
import { eventually, type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { Answer, RawClient } from "./raw-client.ts";
import { type Served, serve } from "./served.ts";

/**
 * As each-error.test.ts, for the operations whose features the memory host has not: captures and traffic, on the embedded host. Code that does not
 * depend on the feature (a missing token, a defect …) is shown there.
 */

const lab = "/wire";
const yaml = `
name: wire
nodes:
  h1: {template: linux}
  h2: {template: linux}
  off: {template: linux, start: false}
links:
  - ["h1:eth0", "h2:eth0"]
  - ["h2:eth1", "off:eth0"]
`;
/** More links than one viewer may watch. */
const many = `name: many
nodes: {${["a", "b", "c", "d"].map((key) => `${key}: {template: linux, start: false}`).join(", ")}}
links: [${Array.from({ length: 66 }, (_, i) => (i < 33 ? `["a:eth${i}", "b:eth${i}"]` : `["c:eth${i - 33}", "d:eth${i - 33}"]`)).join(", ")}]
`;

const shownThere: ReadonlySet<ErrorCode> = new Set([...commonErrors, "unauthenticated", "expired_agent_session", "unsupported"]);
const listed = (Object.entries(operations) as [OperationId, OperationRow][])
  .filter(([, { feature }]) => feature === "capture" || feature === "traffic")
  .flatMap(([id, row]) => [...new Set(row.errors)].filter((code) => !shownThere.has(code)).map((code) => ({ id, row, code })));
const codes = [...new Set(listed.map(({ code }) => code))];

/** Operations whose rate_limited is that of tickets, and brought about here. */
const ticketed: ReadonlySet<OperationId> = new Set(["attachCapture", "attachTraffic"]);

/** Pairs that this file does not bring about, and why. */
const elsewhere: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    listed
      .filter(({ id, code }) => code === "rate_limited" && !ticketed.has(id))
      .map(({ id }) => [`${id} rate_limited`, "many unknown API tokens: src/service/tokens/api-tokens.test.ts"]),
  ),
  "startCapture quota_exceeded": "no user of this file has a quota: src/service/quotas/quotas.test.ts",
};

const good: Readonly<Partial<Record<OperationId, object>>> = {
  startCapture: { lab, node: "h1", interface: "eth0" },
  listCaptures: { lab },
  attachTraffic: { lab },
};

describe.skipIf(process.getuid?.() !== 0)("each code is given by each operation that lists it", () => {
  let local: TestLocalHost;
  let served: Served;
  let ann: RawClient;
  let eve: RawClient;
  let capture: string;
  let trouble: Failure | undefined;

  /** The embedded host, that is in trouble when asked to be. */
  function shaky(host: Host): Host {
    const faulty = <T extends object>(inner: T): T =>
      new Proxy(inner, {
        get: (target, name) => {
          const value = Reflect.get(target, name) as unknown;
          if (name === "close") return value;
          if (typeof value === "object" && value !== null) return faulty(value);
          if (typeof value !== "function") return value;
          return (...given: unknown[]) => {
            if (trouble !== undefined) throw trouble;
            return (value as (...all: unknown[]) => unknown).apply(target, given);
          };
        },
      });
    return {
      ...host,
      login: async (user, password, signal) => faulty<HostSession>(await host.login(user, password, signal)),
      resume: async (user) => {
        const session = await host.resume!(user);
        return session && faulty<HostSession>(session);
      },
    };
  }

  beforeAll(async () => {
    local = await testLocalHost({ captureLimits: { runningPerLab: 2 } });
    const users = openUsers(join(local.paths.state, "users.json"));
    await users.put("ann", "ann-password", "user");
    await users.put("eve", "eve-password", "viewer");
    served = await serve({ host: shaky(local.host) });
    [ann, eve] = [await served.signIn("ann"), await served.signIn("eve")];
    for (const text of [yaml, many]) {
      const deployed = await ann.post("/api/v1/projects/deploy", { yaml: text });
      if (deployed.status !== 200) throw new Error(deployed.text);
    }
    const running = async () => (await ann.post("/api/v1/projects/status", { lab })).json.data.live.nodes;
    await eventually("two running nodes", 60_000, running, (nodes: { status: string }[]) => {
      return nodes.filter(({ status }) => status === "running").length === 2;
    });
    capture = (await send(ann, "startCapture")).json.data.capture;
  });
  afterAll(async () => {
    await local?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
  });

  function pathOf(id: OperationId, part: string): string {
    return operations[id].path.replace("{number}", "1").replace(/\{\w+\}/, part);
  }

  async function send(client: RawClient, id: OperationId, fields: object = {}, part = capture): Promise<Answer> {
    const row: OperationRow = operations[id];
    const path = pathOf(id, part);
    if (row.answer === "upgrade") {
      const connection = await client.secure(
        `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\nConnection: Upgrade\r\nUpgrade: ${row.protocol}\r\n\r\n`,
      );
      await connection.ended();
      const heard = connection.heard();
      const json = heard.includes("{") ? JSON.parse(heard.slice(heard.indexOf("{"), heard.lastIndexOf("}") + 1)) : {};
      return { status: Number(heard.slice(9, 12)), headers: {}, text: heard, json, reused: false };
    }
    const all = { ...good[id], ...fields };
    if (row.body === "json") return client.call(row.method, path, { body: JSON.stringify(all) });
    const query = new URLSearchParams(Object.entries(all).map(([name, value]): [string, string] => [name, String(value)]));
    return client.call(row.method, `${path}${query.size > 0 ? `?${query}` : ""}`, row.body === "unread" ? { body: "{}" } : {});
  }

  async function ticketFor(id: OperationId, client = ann): Promise<string | undefined> {
    if (id === "streamCapture") return (await send(client, "attachCapture")).json.data.stream;
    return id === "streamTraffic" ? (await send(client, "attachTraffic")).json.data.stream : undefined;
  }

  async function onTrouble(id: OperationId, what: Failure): Promise<Answer> {
    const part = await ticketFor(id);
    trouble = what;
    try {
      return await send(ann, id, {}, part);
    } finally {
      trouble = undefined;
    }
  }

  async function untilRefused(id: OperationId): Promise<Answer> {
    const client = await served.signIn("ann");
    for (let count = 0; count < 120; count++) await send(client, id);
    return send(client, id);
  }

  /** A lab of its own with a capture, gone before the ticket is used. */
  async function withoutLab(id: OperationId): Promise<Answer> {
    await ann.post("/api/v1/projects/deploy", {
      yaml: 'name: gone\nnodes: {h1: {template: linux}, h2: {template: linux}}\nlinks: [["h1:eth0", "h2:eth0"]]\n',
    });
    const started = await send(ann, "startCapture", { lab: "/gone" });
    const from: OperationId = id === "streamCapture" ? "attachCapture" : "attachTraffic";
    const { stream } = (await send(ann, from, { lab: "/gone" }, started.json.data.capture)).json.data;
    if (id === "streamTraffic") {
      // The lab that another user made in its place is not visible.
      await ann.post("/api/v1/projects/destroy", { lab: "/gone" });
      const admin = await served.signIn("admin", "test");
      await admin.post("/api/v1/projects/deploy", { yaml: "name: gone\nnodes: {h1: {template: linux, start: false}}\n" });
      try {
        return await send(ann, id, {}, stream);
      } finally {
        await admin.post("/api/v1/projects/destroy", { lab: "/gone" });
      }
    }
    await send(ann, "removeCapture", {}, started.json.data.capture);
    const answer = await send(ann, id, {}, stream);
    await ann.post("/api/v1/projects/destroy", { lab: "/gone" });
    return answer;
  }

  const bring: Readonly<Partial<Record<ErrorCode, (id: OperationId, row: OperationRow) => Promise<Answer>>>> = {
    expired_host_session: (id) => onTrouble(id, new Failure("expired_host_session", "log in again")),
    host_error: (id) => onTrouble(id, new Failure("host_error", "out of order", { data: { host: { message: "out of order" } } })),
    host_unreachable: (id) => onTrouble(id, new Failure("host_unreachable", "away")),
    host_timeout: (id) => onTrouble(id, new Failure("host_timeout", "silent")),
    payload_too_large: (id, row) =>
      ann.call(row.method, pathOf(id, "x"), { body: Buffer.alloc(33_554_433, " "), headers: { "Content-Type": "application/json" } }),
    unsupported_media_type: (id, row) => ann.call(row.method, pathOf(id, "x"), { body: "x", headers: { "Content-Type": "text/plain" } }),
    field_not_allowed: (id) => send(ann, id, { dir: "/tmp" }),
    invalid_intent: (id) => send(ann, id, { yaml: "name: [" }),
    rate_limited: untilRefused,
    lab_not_found: (id) => (id === "streamTraffic" ? withoutLab(id) : send(ann, id, { lab: "/absent" })),
    operation_not_allowed: async (id) => {
      const byViewer = await send(eve, id, {}, (await ticketFor(id).catch(() => undefined)) ?? capture);
      // The host may refuse an operation to this user that the service allows.
      return byViewer.status === 403 && byViewer.json.code !== "browser_token_invalid"
        ? byViewer
        : onTrouble(id, new Failure("operation_not_allowed", "the host does not allow it"));
    },
    node_not_found: (id) => send(ann, id, { node: "nobody" }),
    node_not_running: (id) => send(ann, id, { node: "off" }),
    link_not_found: async (id) => {
      if (id === "attachTraffic") return send(ann, id, { link: "h1:eth0 -- h9:eth0" });
      await (await local.sandbox(lab)).run(["ip", "link", "del", "n2i1"]);
      return send(ann, id, { node: "h2", interface: "eth1" });
    },
    capture_limit: async (id) => {
      if (id === "attachTraffic") return send(ann, id, { lab: "/many" });
      const { capture: second } = (await send(ann, id)).json.data;
      const answer = await send(ann, id);
      await send(ann, "removeCapture", {}, second);
      return answer;
    },
    capture_not_found: (id) => {
      if (id === "streamCapture") return withoutLab(id);
      // A list has no capture in it to name: the host says it of one that went while they were listed.
      return id === "listCaptures" ? onTrouble(id, new Failure("capture_not_found", "it went")) : send(ann, id, {}, "nope");
    },
    browser_token_invalid: (id) => send(ann, id, {}, "0".repeat(64)),
  };

  test.each(codes)("%s", async (code) => {
    const missed: string[] = [];
    for (const { id, row } of listed.filter((each) => each.code === code)) {
      const pair = `${id} ${code}`;
      if (elsewhere[pair] !== undefined) continue;
      const answer = await bring[code]?.(id, row);
      if (answer === undefined) missed.push(`${pair}: nothing brings it about`);
      else if (answer.json?.code !== code || answer.status !== errors[code].status)
        missed.push(`${pair}: ${answer.status} ${answer.text.slice(0, 160)}`);
      else if (code === "rate_limited" && !(Number(answer.headers["retry-after"]) > 0)) missed.push(`${pair}: no Retry-After`);
    }
    expect(missed).toEqual([]);
  });

  test("except those with a stated reason", () => {
    const pairs = new Set(listed.map(({ id, code }) => `${id} ${code}`));
    expect(Object.keys(elsewhere).filter((pair) => !pairs.has(pair))).toEqual([]);
  });
});
