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
  it("a new lab is one import, and a small change a call", async () => {
    const { make, calls } = await bench();
    await make("/pair", pair);
    const first = calls();
    expect(first.filter((call) => call.startsWith("POST /api/import"))).toHaveLength(1);
    expect(first.filter((call) => /^(POST|PUT|DELETE) \/api\/labs/.test(call))).toEqual([]);
    await make("/pair", { ...pair, description: "two PCs" });
    expect(calls().filter((call) => /^(PUT|DELETE|POST) /.test(call) && !call.startsWith("POST /api/export"))).toEqual([
      "PUT /api/labs/pair.unl",
    ]);
  });

  it.each([
    ["ce5", 1],
    ["ce6", 1],
    ["pro", 2],
    ["pnetlab", 3],
  ] as const)("%s: a lab's status takes %i calls, running or not", async (edition, count) => {
    const { make, session, calls } = await bench({ edition });
    await make("/pair", pair);
    await session.status("/pair");
    calls();
    await session.status("/pair");
    expect(calls()).toHaveLength(count);
    await make("/pair", { ...pair, nodes: pair.nodes.map((one) => ({ ...one, start: false })) });
    calls();
    await session.status("/pair");
    expect(calls().length).toBeLessThanOrEqual(3);
  });

  it("PNETLab: looking at a lab opens no session of it, and makes none of a path that has none", async () => {
    const { make, session, fake, host, calls } = await bench({ edition: "pnetlab" });
    await make("/other", pair);
    fake.putLabFile(
      "/mine.unl",
      (fake.labFile("/other.unl") ?? "").replace(/(<lab [^>]*\bid=")[^"]*/, "$1aaaaaaaa-2222-4333-8444-555555555555"),
    );
    calls();
    expect((await session.status("/mine")).nodes.map(({ status }) => status)).toEqual(["stopped", "stopped"]);
    expect((await session.observe("/mine"))?.nodes).toHaveLength(2);
    expect(await session.observe("/nowhere")).toBeNull();
    expect(fake.labFile("/nowhere.unl")).toBeUndefined();
    expect(calls().filter((call) => call.includes("factory/create"))).toEqual([]);
    // Another service, which has no session yet, finds the running one.
    const fresh = eveHost({ url: fake.url, plainHttp: true, warn: () => {} });
    const found = await (await fresh.login("admin", "eve")).status("/other");
    expect(found.nodes.map(({ status }) => status)).toEqual(["running", "running"]);
    await fresh.close();
    await host.close();
  });

  it("PNETLab: the outcome of a change is reported as unknown if the user entered another lab meanwhile", async () => {
    const { make, plan, run, fake } = await bench({ edition: "pnetlab" });
    await make("/pair", pair);
    const wanted = { ...pair, texts: [{ text: "x", x: 1, y: 2 }] };
    const { operations } = await plan("/pair", wanted);
    fake.leadAway(/textobjects\/add/, "admin");
    await expect(run("/pair", wanted, operations)).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringContaining("another lab"),
    });
  });

  it("PNETLab: a lab that is locked by password is not changed, and is not locked or unlocked from here", async () => {
    const { make, session, fake, plan, run } = await bench({ edition: "pnetlab" });
    await make("/pair", pair);
    fake.putLabFile("/pair.unl", (fake.labFile("/pair.unl") ?? "").replace("<lab ", '<lab password="md5" '));
    expect(await session.observe("/pair")).toMatchObject({ locked: true, lock: 1 });
    const before = fake.labFile("/pair.unl");
    await expect(run("/pair", pair, (await plan("/pair", null)).operations)).rejects.toMatchObject({ code: "lab_locked" });
    await expect(session.setLock("/pair", false)).rejects.toMatchObject({ code: "unsupported", data: { feature: "lock" } });
    expect(fake.labFile("/pair.unl")).toBe(before);
    expect((await session.capabilities()).features).toMatchObject({ lock: false, hotPlug: true, linkQuality: true, linkSuspend: false });
  });

  it("PNETLab: a captcha is reported as the obstacle for programs", async () => {
    fixture = await eveFixture({ edition: "pnetlab", captcha: true });
    await expect(fixture.host.login("admin", "eve")).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringContaining("captcha"),
    });
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

  it.each(["ce5", "ce6", "pro"] as const)(
    "%s: a stale lock is reported with the remedy for an administrator, and nothing is stopped for it",
    async (edition) => {
      const { make, plan, run, fake, calls } = await bench({ edition });
      await make("/pair", pair);
      const changed = { ...pair, description: "x" };
      const { operations } = await plan("/pair", changed);
      fake.leaveLock("/pair.unl");
      calls();
      await expect(run("/pair", pair, operations)).rejects.toMatchObject({
        code: "host_error",
        message: expect.stringMatching(/administrator.* \/opt\/unetlab\/labs\/pair\.unl\.lock$/),
        data: { host: { code: 60061 }, retryable: true, ...(edition !== "pro" && { applied: [], failed: operations[0]?.id }) },
      });
      // Professional does not even return startup configs while the file is locked.
      expect(calls().filter((call) => call.startsWith("PUT"))).toHaveLength(edition === "pro" ? 0 : 1);
      expect(fake.calls.filter((call) => call.includes("/api/status") && !call.startsWith("GET"))).toEqual([]);
      expect(fake.running()).toHaveLength(2);
      fake.removeLock("/pair.unl");
      await make("/pair", changed);
    },
  );

  it("PNETLab waits for a lock and takes it, so that a stale one is in nobody's way", async () => {
    const { make, fake } = await bench({ edition: "pnetlab" });
    await make("/pair", pair);
    fake.leaveLock("/pair.unl");
    await make("/pair", { ...pair, texts: [{ text: "x", x: 1, y: 2 }] });
    expect(fake.locks()).toEqual([]);
  });
});

describe("sessions", () => {
  describe.each([
    ["ce5", 90001],
    ["ce6", 90001],
    ["pro", 90001],
    ["pro", 60027],
    ["pnetlab", 90001],
  ] as const)("that end on %s, reported as %i", (edition, sessionLostAs) => {
    it("are opened again for a read, once; repeated takeovers are reported", async () => {
      const { make, fake, session, calls } = await bench({ edition, sessionLostAs });
      await make("/pair", pair);
      calls();
      fake.expireSession("admin");
      expect((await session.status("/pair")).nodes).toHaveLength(2);
      expect(calls().filter((call) => call.startsWith("POST") && call.includes("login"))).toHaveLength(1);
      fake.expireSession("admin");
      await expect(session.labs()).rejects.toMatchObject({ code: "expired_host_session", message: expect.stringContaining("taken over") });
    });

    it("are not opened again for a change: nothing was done, and it is the caller's to repeat", async () => {
      const { make, plan, run, fake, calls } = await bench({ edition, sessionLostAs });
      await make("/pair", pair);
      const changed = { ...pair, description: "x" };
      const { operations } = await plan("/pair", changed);
      const change = edition === "pnetlab" ? /^POST \/api\/labs\/edit$/ : /^PUT \/api\/labs\/pair\.unl$/;
      fake.breakNext(change, "signed out before");
      calls();
      await expect(run("/pair", pair, operations)).rejects.toMatchObject({
        code: "expired_host_session",
        data: { applied: [], failed: operations[0]?.id },
      });
      expect(calls().filter((call) => change.test(call))).toHaveLength(1);
      await make("/pair", changed);
    });
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
    await expect(stranger.login("admin", "eve")).rejects.toMatchObject({
      code: "tls_untrusted",
      message: expect.stringContaining(`--host-pin ${fingerprint}`),
      data: { fingerprint },
    });
    await stranger.close();
    const deceived = eveHost({ url: fixture.fake.url, pin: "ab".repeat(32) });
    await expect(deceived.login("admin", "eve")).rejects.toMatchObject({
      code: "tls_pin_mismatch",
      message: expect.stringMatching(/not the pinned one: pinned AB:AB:.*if the host has a new certificate/),
      data: { fingerprint },
    });
    await deceived.close();
  });

  it("plain HTTP is used if it is configured, with a warning", async () => {
    const warnings: string[] = [];
    const host = eveHost({ url: "http://127.0.0.1:9", plainHttp: true, warn: (text) => warnings.push(text) });
    expect(warnings).toEqual([expect.stringContaining("in the clear")]);
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
    // Numbered from 1, as in the web interface.
    const copy = (fake.labFile("/one.unl") ?? "")
      .replace(/(<lab [^>]*\bid=")[^"]*/, "$1aaaaaaaa-2222-4333-8444-555555555555")
      .replace('name="one"', 'name="two"');
    fake.putLabFile("/two.unl", copy);
    const start = operation({ do: "start", node: "pc1" });
    await expect(run("/two", pair, [start])).rejects.toMatchObject({
      code: "number_clash",
      message: expect.stringContaining("/one"),
      data: { collision: { lab: "/one" } },
    });
    await make("/one", null);
    await run("/two", pair, [start]);
    expect(fake.running().map(({ lab }) => lab)).toEqual(["/two.unl"]);
  });
});
