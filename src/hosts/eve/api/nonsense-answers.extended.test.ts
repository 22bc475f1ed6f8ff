import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { type EveBench, eveBench, operation, pair } from "../eve-bench.fixture.ts";
import { eveHost } from "../host.ts";

/** Closed in reverse order. */
const ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Forged extends EveBench {
  readonly host: ReturnType<typeof eveHost>;
  /** Answers 200 with this body to reads of paths that match. */
  forge: (path: RegExp, body: string | undefined) => void;
}

/** The fake host behind a server that forges answers. The session uses this server. */
async function forged(): Promise<Forged> {
  const bench = await eveBench();
  ends.push(async () => bench[Symbol.asyncDispose]());
  let lie: { readonly path: RegExp; readonly body: string } | undefined;
  const server = createServer((asked, answer) => {
    if (asked.method === "GET" && lie?.path.test(asked.url ?? "")) {
      answer.writeHead(200, { "Content-Type": "application/json" }).end(lie.body);
      return;
    }
    const { method, url, headers } = asked;
    const passed = request(bench.fake.url + (url ?? ""), { method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 500, got.headers);
      got.pipe(answer);
    });
    asked.pipe(passed);
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  ends.push(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const timing = { pollMs: 10, patienceMs: 5_000, settleMs: 300, othersMs: 0 };
  const host = eveHost({ url, plainHttp: true, warn: () => {}, timing });
  ends.push(() => host.close());
  await bench.make("/pair", pair);
  const session = await host.login("admin", "eve");
  return { ...bench, host, session, forge: (path, body) => (lie = body === undefined ? undefined : { path, body }) };
}

const envelope = (data: string) => `{"code":200,"status":"success","message":"Successfully listed nodes (60026).","data":${data}}`;
const node = '{"id":1,"name":"pc1","status":0}';

it.each([
  "null",
  "[]",
  "x",
  "{}",
  envelope('"x"'),
  envelope("null"),
  envelope("7"),
  envelope('{"1":null}'),
  envelope(`{"__proto__":{"name":"x","status":0}}`),
  envelope('{"1":{"id":1,"name":"pc1"}}'),
  envelope(`${"[".repeat(1_000_000)}${node}${"]".repeat(1_000_000)}`),
])("an answer that is no list of nodes is a host_error, and nothing is taken for stopped or absent (%#)", async (body) => {
  const { forge, session, fake } = await forged();
  forge(/\/api\/labs\/pair\.unl\/nodes$/, body);
  const ids = { nodes: { pc1: "1" }, networks: {}, links: {} };
  const apply = (step: Parameters<typeof operation>[0]) => session.apply("/pair", [operation(step)], { ids, step: () => {} });
  for (const work of [
    () => session.status("/pair"),
    () => session.observe("/pair"),
    () => apply({ do: "stop", node: "pc1", mode: 3 }),
    () => apply({ do: "delete-lab", wipe: true }),
  ]) {
    await expect(work()).rejects.toMatchObject({ code: "host_error" });
  }
  expect(fake.running()).toHaveLength(2);
  forge(/./, undefined);
  expect((await session.status("/pair")).nodes.map(({ status }) => status)).toEqual(["running", "running"]);
});

it("an answer that is no list of labs is a host_error, and an empty one is empty", async () => {
  const { forge, session } = await forged();
  for (const body of ["null", "[]", envelope("[]"), envelope('{"folders":[],"labs":"x"}')]) {
    forge(/\/api\/folders\/$/, body);
    await expect(session.labs()).rejects.toMatchObject({ code: "host_error" });
  }
  forge(/\/api\/folders\/$/, envelope('{"folders":[],"labs":[]}'));
  expect(await session.labs()).toEqual([]);
});

it.each([
  [/\/api\/auth$/, "null"],
  [/\/api\/auth$/, envelope('{"username":"admin"}')],
  [/\/list\/templates\/$/, envelope('"x"')],
  [/\/list\/templates\/vpcs$/, envelope("7")],
  [/\/list\/templates\/vpcs$/, envelope('{"options":"x"}')],
  [/\/list\/networks$/, envelope("null")],
])("an answer to %s that is no user, template or list is a host_error", async (path, body) => {
  const { forge, session, host } = await forged();
  forge(path, body);
  const work = path.source.includes("auth") ? host.login("admin", "eve") : session.templates();
  await expect(work).rejects.toMatchObject({ code: "host_error" });
});

it.each(["second", "", " admin", "admin\u0000", "admin\u202e", "adm\nin", "a".repeat(65), "admin\u001b[31m"])(
  "a login that the host answers with the user %j is a host_error",
  async (username) => {
    const { forge, host } = await forged();
    forge(/\/api\/auth$/, envelope(JSON.stringify({ username, role: "admin" })));
    await expect(host.login("admin", "eve")).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringMatching(/^[\x20-\x7e]{1,200}$/),
    });
  },
);

it("a user's name may differ in case from the typed one, as in EVE-NG's database", async () => {
  const { forge, host } = await forged();
  forge(/\/api\/auth$/, envelope(JSON.stringify({ username: "Admin", role: "admin" })));
  const session = await host.login("admin", "eve");
  expect(session.user).toBe("Admin");
  await session.close();
});

it.each(["", "0", "root", "Admin"])("the role %j of a user gives no rights of an administrator", async (role) => {
  const { forge, host } = await forged();
  forge(/\/api\/auth$/, envelope(JSON.stringify({ username: "admin", role })));
  const session = await host.login("admin", "eve");
  expect(session.role).toBe("user");
  await session.close();
});

it("an answer that is too large is the host's error, not the caller's", async () => {
  const { forge, session } = await forged();
  forge(/\/nodes$/, " ".repeat(65 * 1024 * 1024));
  await expect(session.status("/pair")).rejects.toMatchObject({ code: "host_error", message: expect.stringContaining("sent too much") });
});

it("line ends in a message of the host end no line of ours", async () => {
  const { forge, session } = await forged();
  forge(/\/nodes$/, '{"code":400,"status":"fail","message":"bad\\r\\nerror: fake (60099)"}');
  await expect(session.status("/pair")).rejects.toMatchObject({ message: expect.stringMatching(/^.*bad error: fake \(60099\)$/) });
});
