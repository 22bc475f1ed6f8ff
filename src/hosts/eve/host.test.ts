import { afterEach, describe, expect, it } from "vitest";
import type { FakeEveOptions } from "../../../test/fakes/eve/options.ts";
import { selfSigned } from "../../../test/self-signed.ts";
import { type EveBench, eveBench, node, operation, pair } from "./eve-bench.fixture.ts";
import { type EveFixture, eveFixture } from "./eve-host.fixture.ts";
import { eveHost } from "./host.ts";

let fixture: EveFixture | undefined;

afterEach(async () => {
  const ended = fixture;
  fixture = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
});

async function bench(options: FakeEveOptions = {}): Promise<EveBench> {
  const made = await eveBench(options);
  fixture = made;
  return made;
}

describe("writes", () => {
  it("a new lab is one import, a small change a call, and status one call", async () => {
    const { make, session, calls } = await bench();
    await make("/pair", pair);
    const first = calls();
    expect(first.filter((call) => call.startsWith("POST /api/import"))).toHaveLength(1);
    expect(first.filter((call) => /^(POST|PUT|DELETE) \/api\/labs/.test(call))).toEqual([]);
    await make("/pair", { ...pair, description: "two PCs" });
    expect(calls().filter((call) => /^(PUT|DELETE|POST) /.test(call) && !call.startsWith("POST /api/export"))).toEqual([
      "PUT /api/labs/pair.unl",
    ]);
    await session.status("/pair");
    expect(calls()).toEqual(["GET /api/labs/pair.unl/nodes"]);
  });

  it("what is not managed stays: pictures, unknown attributes, drawn shapes, configs that are not used", async () => {
    const { make, fake, session } = await bench();
    await make("/pair", pair);
    const file = fake.labFile("/pair.unl") ?? "";
    const drawn =
      '<objects><pictures><picture id="1" name="map" type="image/png" width="1" height="1"><data>aGk=</data><map></map></picture></pictures>' +
      '<textobjects><textobject id="9" name="box" type="shape"><data>PGRpdj48L2Rpdj4=</data></textobject></textobjects></objects></lab>';
    fake.putLabFile("/pair.unl", file.replace("</lab>", drawn));
    const more = {
      ...pair,
      nodes: [...pair.nodes, ...["a", "b", "c"].map((key) => node(key, "vpcs"))],
      texts: [{ text: "hello", x: 1, y: 2 }],
    };
    await make("/pair", more);
    const after = fake.labFile("/pair.unl") ?? "";
    expect(after).toContain('name="map"');
    expect(after).toContain('type="shape"');
    expect((await session.observe("/pair"))?.texts).toEqual([{ text: "hello", x: 1, y: 2 }]);
  });

  it("a lab that the host does not export is read call by call, the same", async () => {
    const { make, fake, session, calls } = await bench();
    await make("/pair", { ...pair, description: "a < b", texts: [{ text: "x", x: 0, y: 1 }] });
    const exported = await session.observe("/pair");
    fake.failNextExport();
    fake.putLabFile("/pair.unl", fake.labFile("/pair.unl") ?? "");
    calls();
    const read = await session.observe("/pair");
    expect(calls()).toContain("GET /api/labs/pair.unl/networks");
    expect(read).toEqual(exported);
  });

  it("a stale lock is told with what an administrator can do, and nothing is stopped for it", async () => {
    const { make, plan, run, fake, calls } = await bench();
    await make("/pair", pair);
    fake.leaveLock("/pair.unl");
    const { operations } = await plan("/pair", { ...pair, description: "x" });
    await expect(run("/pair", pair, operations)).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringContaining(".unl.lock"),
      data: { host: { code: 60061 } },
    });
    expect(calls().filter((call) => call.includes("/api/status") && !call.startsWith("GET"))).toEqual([]);
  });
});

describe("sessions", () => {
  it("a read after the session has ended signs in again; a change is not repeated", async () => {
    const { make, fake, session } = await bench();
    await make("/pair", pair);
    fake.expireSession("admin");
    expect((await session.status("/pair")).nodes).toHaveLength(2);
    fake.expireSession("admin");
    await expect(session.labs()).rejects.toMatchObject({ code: "expired_host_session", message: expect.stringContaining("taken over") });
  });

  it.each(["ce5", "ce6", "pro"] as const)("%s: all sessions of a user share one, and the last one out signs off", async (edition) => {
    const { host, session, calls, fake } = await bench({ edition });
    const other = await host.login("admin", "eve");
    expect(await session.labs()).toEqual([]);
    await expect(host.login("admin", "wrong")).rejects.toMatchObject({ code: "invalid_credentials" });
    await other.close();
    expect(await session.labs()).toEqual([]);
    expect(calls().filter((call) => call.includes("logout"))).toEqual([]);
    await session.close();
    expect(calls()).toEqual(["GET /api/auth/logout"]);
    await expect(session.labs()).rejects.toMatchObject({ code: "expired_host_session" });
    expect(fake.calls.filter((call) => call.startsWith("DELETE"))).toEqual([]);
  });

  it("a self-signed host is trusted by its pin and not without it", async () => {
    const { key, cert, fingerprint } = selfSigned();
    fixture = await eveFixture({ tls: { key, cert } }, { pin: fingerprint, plainHttp: false });
    const session = await fixture.host.login("admin", "eve");
    expect(session.role).toBe("admin");
    const stranger = eveHost({ url: fixture.fake.url });
    await expect(stranger.login("admin", "eve")).rejects.toMatchObject({ code: "tls_untrusted" });
    await stranger.close();
  });

  it("plain HTTP is spoken when it is said, with a warning", async () => {
    const told: string[] = [];
    const host = eveHost({ url: "http://127.0.0.1:9", plainHttp: true, warn: (text) => told.push(text) });
    expect(told).toEqual([expect.stringContaining("in the clear")]);
    await host.close();
    expect(() => eveHost({ url: "http://127.0.0.1:9" })).toThrow(expect.objectContaining({ code: "tls_required" }));
  });
});

describe("running labs", () => {
  it("new labs get numbers that no other has, so that two run side by side", async () => {
    const { make, fake, session } = await bench();
    await make("/one", pair);
    await make("/two", pair);
    const [one, two] = [await session.observe("/one"), await session.observe("/two")];
    const ids = [...(one?.nodes ?? []), ...(two?.nodes ?? [])].map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
    expect(
      fake
        .running()
        .map(({ lab }) => lab)
        .sort(),
    ).toEqual(["/one.unl", "/one.unl", "/two.unl", "/two.unl"]);
  });

  it("a lab that would meet another running one on Community is refused, and the other is named", async () => {
    const { make, run, fake } = await bench();
    await make("/one", pair);
    // As made in the web interface: numbers from 1.
    const copy = (fake.labFile("/one.unl") ?? "")
      .replace(/(<lab [^>]*\bid=")[^"]*/, "$1aaaaaaaa-2222-4333-8444-555555555555")
      .replace('name="one"', 'name="two"');
    fake.putLabFile("/two.unl", copy);
    const start = operation({ do: "start", node: "pc1" });
    await expect(run("/two", pair, [start])).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringContaining("/one"),
      data: { collision: { lab: "/one" } },
    });
    await make("/one", null);
    await run("/two", pair, [start]);
    expect(fake.running().map(({ lab }) => lab)).toEqual(["/two.unl"]);
  });

  it("a node that the host cannot prepare is told with its words, and is not started again", async () => {
    const { make, run, fake, calls } = await bench();
    await make("/pair", { ...pair, nodes: pair.nodes.map((one) => ({ ...one, start: false })) });
    fake.failNextStart({ code: 12, keepLock: true });
    calls();
    await expect(run("/pair", pair, [operation({ do: "start", node: "pc1" })])).rejects.toMatchObject({ code: "host_error" });
    expect(calls().filter((call) => call.endsWith("/start"))).toHaveLength(1);
  });
});
