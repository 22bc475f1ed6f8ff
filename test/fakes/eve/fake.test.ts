import { connect as connectSocket, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "vitest";
import { readZip, writeZip } from "../../../src/files/zip/zip.ts";
import { readUnl, type UnlLab, writeUnl } from "../../../src/hosts/eve/lab-file/unl.ts";
import { connect } from "../../../src/hosts/eve/lab-file/unl-links.ts";
import { selfSigned } from "../../self-signed.ts";
import { type Client, node, signIn, until } from "./client.fixture.ts";
import type { FakeEveOptions } from "./options.ts";
import { send } from "./raw-request.ts";
import { type FakeEve, startFakeEve } from "./server.ts";

async function withLab(options: FakeEveOptions, work: (eve: FakeEve, admin: Client) => Promise<void>): Promise<void> {
  await using eve = await startFakeEve({ latency: "none", lockTimeoutMs: 60, ...options });
  const admin = await signIn(eve);
  expect(await admin.call("POST", "/labs", { path: "/", name: "lab" })).toMatchObject({ status: 200, code: 60019 });
  await work(eve, admin);
  expect(eve.defects).toEqual([]);
}

const lab = "/labs/lab.unl";
const linux = (name: string, more: object = {}) =>
  node(name, { template: "linux", type: "qemu", image: "linux-tiny-1.0", cpu: "1", ram: "128", console: "telnet", ...more });

describe("ids", () => {
  test("a node gets the lowest free number, up to 127; the 128th is reported as added and does not exist", () =>
    withLab({}, async (_eve, admin) => {
      const many = await admin.call("POST", `${lab}/nodes`, node("n", { numberNodes: "127" }));
      expect(many.json.data.id).toHaveLength(127);
      const more = await admin.call("POST", `${lab}/nodes`, node("x"));
      expect(more).toMatchObject({ status: 201, code: undefined, json: { message: "Max nodes reached ( 128 )", data: { id: 128 } } });
      expect((await admin.call("GET", `${lab}/nodes/128`)).status).toBe(404);
      await admin.call("DELETE", `${lab}/nodes/3`);
      expect((await admin.call("POST", `${lab}/nodes`, node("x"))).json.data.id).toBe(3);
    }));
});

describe("locks", () => {
  test("a lock that PHP 8 leaves behind stops all writes until everything is stopped", () =>
    withLab({ php: 8 }, async (eve, admin) => {
      expect((await admin.call("POST", `${lab}/nodes`, { template: "vpcs", type: "vpcs", name: "a" })).status).toBe(500);
      expect(eve.locks()).toEqual(["/lab.unl"]);
      const began = Date.now();
      expect(await admin.call("PUT", lab, { version: "2" })).toMatchObject({ status: 400, code: 60061 });
      expect(Date.now() - began).toBeGreaterThanOrEqual(50);
      expect((await admin.call("GET", `${lab}/nodes/start`)).code).toBe(60061);
      expect((await admin.call("GET", lab)).status).toBe(200);
      expect((await admin.call("DELETE", "/status")).code).toBe(60051);
      expect((await admin.call("PUT", lab, { version: "2" })).code).toBe(60023);
    }));

  test("writes at the same time wait for each other", () =>
    withLab({ lockTimeoutMs: 5_000, latency: { save: 20, call: 0 } }, async (eve, admin) => {
      const names = ["a", "b", "c", "d"];
      await Promise.all(names.map((name) => admin.call("POST", `${lab}/networks`, { name, type: "bridge", visibility: 1 })));
      const { json } = await admin.call("GET", `${lab}/networks`);
      expect(
        Object.values<{ name: string }>(json.data)
          .map(({ name }) => name)
          .sort(),
      ).toEqual(names);
      expect(eve.locks()).toEqual([]);
    }));
});

describe("a file that PHP 8 does not like", () => {
  const file =
    '<lab name="lab" id="11111111-2222-4333-8444-555555555555"><topology><nodes><node id="1" type="vpcs" template="vpcs"/></nodes></topology></lab>';

  test("a node without config: the lab cannot be read, and a write leaves its lock", () =>
    withLab({ php: 8 }, async (eve, admin) => {
      eve.putLabFile("/lab.unl", file);
      expect(await admin.call("GET", lab)).toMatchObject({ status: 400, json: { message: 'Undefined array key "config"' } });
      expect((await admin.call("PUT", lab, { version: "2" })).status).toBe(500);
      expect(eve.locks()).toEqual(["/lab.unl"]);
    }));

  test("PHP 7 reads it", () =>
    withLab({ php: 7 }, async (eve, admin) => {
      eve.putLabFile("/lab.unl", file);
      expect((await admin.call("GET", `${lab}/nodes`)).json.data["1"]).toMatchObject({ name: "Node1", ethernet: null, config: 0 });
    }));
});

describe("power", () => {
  const status = async (admin: Client, id = 1) => (await admin.call("GET", `${lab}/nodes/${id}`)).json.data.status as number;

  test("a node is prepared, then boots, then is configured, then runs", () =>
    withLab({ latency: { prepare: 400, start: 80, boot: 80, configure: 600 }, images: { vios: ["vios-15.6"] } }, async (eve, admin) => {
      await admin.call("POST", `${lab}/nodes`, linux("r1", { template: "vios", image: "vios-15.6" }));
      await admin.call("PUT", `${lab}/configs/1`, { id: 1, data: "hostname r1\n" });
      await admin.call("PUT", `${lab}/nodes/1`, { name: "r1", config: "1" });
      const seen: number[] = [];
      const started = admin.call("GET", `${lab}/nodes/1/start`);
      const watched = until(
        async () => {
          const now = await status(admin);
          if (seen.at(-1) !== now) seen.push(now);
          return now;
        },
        (now) => now === 2,
      );
      expect((await started).code).toBe(80049);
      await watched;
      // Between preparing and booting it may be seen as stopped.
      expect([...new Set(seen.filter((each) => each !== 0))]).toEqual([1, 3, 2]);
      expect(eve.running()).toMatchObject([{ name: "r1", config: "hostname r1\n", orphan: false }]);
    }));

  test("a start that fails while disks are made leaves status 1 until the node is wiped", () =>
    withLab({}, async (eve, admin) => {
      await admin.call("POST", `${lab}/nodes`, linux("l1"));
      eve.failNextStart({ code: 12, keepLock: true });
      expect((await admin.call("GET", `${lab}/nodes/1/start`)).code).toBe(12);
      expect(await status(admin)).toBe(1);
      expect((await admin.call("GET", `${lab}/nodes/1/start`)).code).toBe(80049);
      expect(await status(admin)).toBe(1);
      await admin.call("GET", `${lab}/nodes/1/wipe`);
      await admin.call("GET", `${lab}/nodes/1/start`);
      expect(await status(admin)).toBe(2);
    }));

  test("a node without an image does not start, and those before it run", () =>
    withLab({}, async (_eve, admin) => {
      await admin.call("POST", `${lab}/nodes`, node("a"));
      await admin.call("POST", `${lab}/nodes`, node("b", { template: "vios", type: "qemu" }));
      await admin.call("POST", `${lab}/nodes`, node("c"));
      expect((await admin.call("GET", `${lab}/nodes/start`)).code).toBe(12);
      expect([await status(admin, 1), await status(admin, 2), await status(admin, 3)]).toEqual([2, 0, 0]);
    }));

  test("a startup config that comes after the first start needs a wipe", () =>
    withLab({}, async (eve, admin) => {
      await admin.call("POST", `${lab}/nodes`, node("a"));
      const boot = async () => {
        await admin.call("GET", `${lab}/nodes/1/start`);
        const { config } = eve.running()[0] ?? {};
        await admin.call("GET", `${lab}/nodes/1/stop`);
        return config;
      };
      expect(await boot()).toBeUndefined();
      // Asked for before there is one, it is forgotten.
      await admin.call("PUT", `${lab}/nodes/1`, { name: "a", config: "1" });
      await admin.call("PUT", `${lab}/configs/1`, { data: "ip 10.0.0.1/24\n" });
      expect((await admin.call("GET", `${lab}/configs`)).json.data["1"]).toMatchObject({ config: "0", len: 1 });
      await admin.call("PUT", `${lab}/nodes/1`, { name: "a", config: "1" });
      expect(await boot()).toBeUndefined();
      await admin.call("GET", `${lab}/nodes/1/wipe`);
      expect(await boot()).toBe("ip 10.0.0.1/24\n");
    }));

  test("users have ports of their own; labs of one user share them", () =>
    withLab(
      {
        users: [
          { username: "admin", password: "eve" },
          { username: "eva", password: "x" },
        ],
      },
      async (eve, admin) => {
        const eva = await signIn(eve, "eva", "x");
        expect((await eva.call("GET", "/auth")).json.data.tenant).toBe(1);
        await admin.call("POST", `${lab}/nodes`, node("a"));
        await admin.call("POST", "/labs", { path: "/", name: "other" });
        await admin.call("POST", "/labs/other.unl/nodes", node("b"));
        await admin.call("GET", `${lab}/nodes/1/start`);
        expect((await admin.call("GET", "/labs/other.unl/nodes/1")).json.data.status).toBe(2);
        // Nothing to start, and what it stops is not there.
        expect((await admin.call("GET", "/labs/other.unl/nodes/1/stop")).code).toBe(80051);
        expect(await status(admin)).toBe(2);
        const hers = (await eva.call("GET", `${lab}/nodes/1`)).json.data;
        expect([hers.status, hers.url]).toEqual([0, `telnet://${eve.address}:${32768 + 128 + 1}`]);
      },
    ));
});

describe("import over a lab that runs", () => {
  const pcs = (count: number): UnlLab => {
    const ids = Array.from({ length: count }, (_, index) => index + 1);
    const nodes = ids.map((id) => ({ id, name: `p${id}`, type: "vpcs", template: "vpcs", ethernet: 1, config: "0", interfaces: [] }));
    const bare: UnlLab = {
      name: "lab",
      id: "11111111-2222-4333-8444-555555555555",
      nodes,
      networks: [],
      textObjects: [],
      pictures: [],
      configs: [],
    };
    return connect(bare, { node: count - 1, interface: 0 }, { node: count, interface: 0 });
  };
  const archive = (of: UnlLab) => writeZip([{ name: "lab.unl", data: Buffer.from(writeUnl(of)) }]);

  test("what runs goes on, wired as it was until it starts again", () =>
    withLab({}, async (eve, admin) => {
      await admin.import("/", archive(pcs(2)));
      await admin.call("GET", `${lab}/nodes/start`);
      expect((await admin.import("/", archive(pcs(3)))).code).toBe(80080);
      const wires = () => Object.fromEntries(eve.running().map(({ name, wires: each }) => [name, each.get(0)]));
      expect(wires()).toEqual({ p1: 1, p2: 1 });
      await admin.call("GET", `${lab}/nodes/1/stop`);
      await admin.call("GET", `${lab}/nodes/1/start`);
      expect(wires()).toEqual({ p1: 0, p2: 1 });
    }));

  test("an export has no id of the lab, and keeps those of nodes", () =>
    withLab({}, async (eve, admin) => {
      await admin.call("POST", `${lab}/nodes`, linux("l1"));
      const { json } = await admin.call("POST", "/export", { 0: "/lab.unl", path: "/" });
      const file = await send(eve, { method: "GET", path: json.data, host: eve.address });
      const exported = readUnl(Buffer.from(readZip(file.body)[0]?.data ?? []).toString());
      expect(exported.id).toBeUndefined();
      expect(exported.nodes[0]?.uuid).toMatch(/^[0-9a-f-]{36}$/);
    }));

  test("Community drops what it does not know, Professional keeps it", async () => {
    const rich = {
      ...pcs(2),
      otherAttributes: [["countdown", "5"]] as const,
      otherElements: [{ name: "tasks", attributes: [], children: [] }],
    };
    for (const [edition, kept] of [
      ["ce5", false],
      ["pro", true],
    ] as const) {
      await withLab({ edition }, async (eve, admin) => {
        await admin.import("/", archive(rich));
        await admin.call("PUT", lab, { version: "7" });
        const file = eve.labFile("/lab.unl") ?? "";
        expect([file.includes("countdown"), file.includes("<tasks/>"), file.includes('version="7"')]).toEqual([kept, kept, true]);
      });
    }
  });

  test("ampersands in names grow with each save", () =>
    withLab({}, async (_eve, admin) => {
      await admin.call("POST", `${lab}/networks`, { name: "a&b", type: "bridge", visibility: 1 });
      const name = async () => (await admin.call("GET", `${lab}/networks`)).json.data["1"].name;
      expect(await name()).toBe("a&amp;amp;b");
      await admin.call("PUT", lab, { version: "2" });
      expect(await name()).toBe("a&amp;amp;amp;b");
    }));
});

describe("IOL", () => {
  test("has interfaces by id, and serial links that both ends know", () =>
    withLab({ images: { iol: ["l3.bin"] } }, async (_eve, admin) => {
      const iol = (name: string) =>
        node(name, { template: "iol", type: "iol", image: "l3.bin", ethernet: "1", serial: "1", nvram: "1024" });
      await admin.call("POST", `${lab}/nodes`, iol("a"));
      await admin.call("POST", `${lab}/nodes`, iol("b"));
      expect((await admin.call("PUT", `${lab}/nodes/1/interfaces`, { 1: "2:17" })).code).toBe(60023);
      const { data } = (await admin.call("GET", `${lab}/nodes/2/interfaces`)).json;
      expect(Object.keys(data.ethernet)).toEqual(["0", "16", "32", "48"]);
      expect(data.serial["17"]).toEqual({ name: "s1/1", remote_id: 1, remote_if: 1, remote_if_name: "s1/0" });
      expect((await admin.call("GET", `${lab}/topology`)).json.data).toMatchObject([
        { type: "serial", source: "node2", destination: "node1" },
      ]);
      await admin.call("DELETE", `${lab}/nodes/2`);
      expect((await admin.call("GET", `${lab}/nodes/1/interfaces`)).json.data.serial["1"].remote_id).toBe(0);
    }));
});

describe("Community 6", () => {
  test("has icons of networks", () =>
    withLab({ edition: "ce6" }, async (_eve, admin) => {
      expect(Object.keys((await admin.call("GET", "/list/networks")).json)).toContain("icons");
      await admin.call("POST", `${lab}/networks`, { name: "n", type: "bridge", visibility: 1 });
      expect((await admin.call("GET", `${lab}/networks/1`)).json.data.icon).toBe("lan.png");
      expect((await admin.call("GET", "/status")).json.data.version).toBe("6.2.0-4");
    }));
});

describe("Professional", () => {
  const pro: FakeEveOptions = { edition: "pro", images: { linux: ["linux-tiny-1.0"], vios: ["vios-15.6"] } };

  test("stops by mode only; what knows no ACPI hangs in a graceful stop", () =>
    withLab(pro, async (_eve, admin) => {
      await admin.call("POST", `${lab}/nodes`, linux("r1", { template: "vios", image: "vios-15.6" }));
      await admin.call("GET", `${lab}/nodes/1/start`);
      expect((await admin.call("GET", `${lab}/nodes/1/stop`)).code).toBe(60027);
      const status = async () => (await admin.call("GET", `${lab}/nodes/1`)).json.data.status;
      expect((await admin.call("GET", `${lab}/nodes/1/stop/stopmode=0`)).code).toBe(80051);
      expect(await status()).toBe(4);
      await admin.call("GET", `${lab}/nodes/1/stop/stopmode=3`);
      expect(await status()).toBe(0);
      expect((await admin.call("GET", `${lab}/nodes/1/stop/stopmode=9`)).code).toBe(60027);
    }));

  test("labs do not meet: ports are new at each start", () =>
    withLab(pro, async (eve, admin) => {
      await admin.call("POST", "/labs", { path: "/", name: "other" });
      for (const each of [lab, "/labs/other.unl"]) await admin.call("POST", `${each}/nodes`, node("a"));
      await admin.call("GET", `${lab}/nodes/1/start`);
      expect((await admin.call("GET", "/labs/other.unl/nodes/1")).json.data.status).toBe(0);
      const { url } = (await admin.call("GET", `${lab}/nodes/1`)).json.data;
      expect(url).toBe(`telnet://${eve.address}:${eve.running()[0]?.port}`);
      expect((await admin.call("GET", "/runninglabs")).json.data).toHaveLength(1);
    }));

  test("the topology reports the quality of a link, which is stored on request", () =>
    withLab(pro, async (eve, admin) => {
      for (const name of ["a", "b"]) await admin.call("POST", `${lab}/nodes`, node(name));
      await admin.call("POST", `${lab}/networks`, { name: "n", type: "bridge", visibility: 1, left: 1, top: 1 });
      for (const id of [1, 2]) await admin.call("PUT", `${lab}/nodes/${id}/interfaces`, { 0: "1" });
      await admin.call("PUT", `${lab}/networks/1`, { visibility: 0 });
      const quality = {
        source: "1",
        source_interfaceId: 0,
        source_delay: "10",
        source_loss: "1",
        destination: "2",
        destination_interfaceId: 0,
      };
      expect((await admin.call("PUT", `${lab}/quality`, { ...quality, save: 0 })).code).toBe(60023);
      // The topology has the end with the higher id first.
      const [link] = (await admin.call("GET", `${lab}/topology`)).json.data;
      expect(link).toMatchObject({
        source: "node2",
        source_delay: "0",
        destination: "node1",
        destination_delay: "10",
        destination_loss: "1",
      });
      expect(eve.labFile("/lab.unl")).not.toContain("source_delay");
      await admin.call("PUT", `${lab}/quality`, { ...quality, save: 1 });
      expect(eve.labFile("/lab.unl")).toContain('source_delay="10"');
    }));

  test("startup configs are read by set", () =>
    withLab(pro, async (_eve, admin) => {
      await admin.call("POST", `${lab}/nodes`, node("a"));
      await admin.call("PUT", `${lab}/configs/1`, { id: 1, data: "x", cfsid: "default" });
      expect((await admin.call("POST", `${lab}/configs/1`, { cfsid: "default" })).json.data.data).toBe("x");
      expect((await admin.call("POST", `${lab}/configs`, { cfsid: "default" })).json.data["1"].len).toBe(1);
    }));

  test("links of running nodes change at once, where hot plug is on", async () => {
    for (const hotPlug of [true, false]) {
      await withLab({ ...pro, hotPlug }, async (eve, admin) => {
        await admin.call("POST", `${lab}/nodes`, node("a"));
        await admin.call("POST", `${lab}/networks`, { name: "n", type: "bridge", visibility: 1, left: 1, top: 1 });
        await admin.call("GET", `${lab}/nodes/1/start`);
        await admin.call("PUT", `${lab}/nodes/1/interfaces`, { 0: "1" });
        expect(eve.running()[0]?.wires.get(0)).toBe(hotPlug ? 1 : 0);
      });
    }
  });
});

describe("consoles", () => {
  test("all clients share one session; who comes later has missed what was", () =>
    withLab({}, async (eve, admin) => {
      await admin.call("POST", `${lab}/nodes`, linux("l1"));
      await admin.call("GET", `${lab}/nodes/1/start`);
      const [first, second] = [listen(eve, 32769), listen(eve, 32769)];
      await until(
        async () => first.text() + second.text(),
        (text) => text.split("\u001b]0;l1\u0007").length === 3,
      );
      first.socket.write("echo hello\r");
      await until(
        async () => [first.text(), second.text()],
        (texts) => texts.every((text) => text.includes("hello\r\nl1# ")),
      );
      const third = listen(eve, 32769);
      await until(
        async () => third.text(),
        (text) => text.endsWith("\u0007"),
      );
      expect(third.text()).not.toContain("hello");
      for (const { socket } of [first, second, third]) socket.destroy();
    }));

  test("what a node says can be made up", () =>
    withLab({ console: (line, { name }) => (line === "who" ? `I am ${name}` : undefined) }, async (eve, admin) => {
      await admin.call("POST", `${lab}/nodes`, node("p1"));
      await admin.call("GET", `${lab}/nodes/1/start`);
      const { socket, text } = listen(eve, 32769);
      // As a VPCS does it: of what comes in one piece, all that follows the first line end is lost.
      socket.write("who\r\nset pcname Y\r\n");
      await until(
        async () => text(),
        (said) => said.includes("I am p1") && said.endsWith("> "),
      );
      socket.write("set pcname X\r");
      await until(
        async () => text(),
        (said) => said.endsWith("X> "),
      );
      expect(text()).not.toContain("Y> ");
      socket.destroy();
    }));

  test("HTML5 addresses have the port in them", () =>
    withLab({ guacamole: true }, async (eve, admin) => {
      await admin.call("POST", `${lab}/nodes`, node("p1"));
      const body = JSON.stringify({ username: "admin", password: "eve" });
      const { headers } = await send(eve, { method: "POST", path: "/api/auth/login", host: eve.address, body });
      const cookie = headers.find(([name]) => name === "Set-Cookie")?.[1].split(";")[0];
      const answer = await send(eve, { method: "GET", path: `/api${lab}/nodes/1`, host: eve.address, cookie });
      const { url } = JSON.parse(answer.body.toString()).data;
      const [, id = ""] = /^\/html5\/#\/client\/(.+)\?token=[0-9A-F]{64}$/.exec(url) ?? [];
      expect(Buffer.from(id, "base64").toString()).toBe("32769\0c\0mysql");
    }));
});

function listen(eve: FakeEve, port: number): { readonly socket: Socket; readonly text: () => string } {
  let text = "";
  const socket = connectSocket(port, eve.address);
  socket.on("data", (bytes) => {
    text += bytes.toString("latin1");
  });
  return { socket, text: () => text };
}

test("a user has one session: the second login ends the first", () =>
  withLab({}, async (eve, admin) => {
    const other = await signIn(eve);
    expect((await admin.call("GET", lab)).status).toBe(412);
    expect((await other.call("GET", lab)).status).toBe(200);
  }));

test("Professional may call a lost session an invalid request; who asks who he is learns the truth", () =>
  withLab({ edition: "pro", sessionLostAs: 60027 }, async (eve, admin) => {
    eve.expireSession("admin");
    expect(await admin.call("GET", lab)).toMatchObject({ status: 400, code: 60027 });
    expect(await admin.call("GET", "/auth")).toMatchObject({ status: 401, code: 90001 });
  }));

test("it can be reached over TLS", async () => {
  const { key, cert } = selfSigned();
  await using eve = await startFakeEve({ latency: "none", tls: { key, cert } });
  const socket = connectTls({ host: eve.address, port: eve.port, rejectUnauthorized: false });
  const answer = await new Promise<string>((resolve, reject) => {
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes;
    });
    socket.on("end", () => resolve(text));
    socket.on("error", reject);
    socket.write("GET /api/icons HTTP/1.1\r\nHost: eve\r\nConnection: close\r\n\r\n");
  });
  expect(answer).toContain("HTTP/1.1 200 OK\r\n");
  expect(answer).toContain('"128Ticon-new.png"');
});

test("what EVE-NG has and the fake has not is said", () =>
  withLab({}, async (_eve, admin) => {
    expect((await admin.call("POST", "/users", {})).status).toBe(501);
    expect((await admin.call("POST", `${lab}/pictures`, {})).status).toBe(501);
    expect((await admin.call("GET", "/nothing")).status).toBe(404);
  }));

test("a VPCS runs a startup file of many lines, and a start fails once where no fault is named", () =>
  withLab({}, async (eve, admin) => {
    await admin.call("POST", `${lab}/nodes`, node("a", { config: "1" }));
    await admin.call("PUT", `${lab}/configs/1`, { id: "1", data: "echo a\n".repeat(20_000) });
    eve.failNextStart();
    expect((await admin.call("GET", `${lab}/nodes/1/start`)).status).toBe(400);
    expect((await admin.call("GET", `${lab}/nodes/1/start`)).status).toBe(200);
    expect(eve.running()).toHaveLength(1);
  }));
