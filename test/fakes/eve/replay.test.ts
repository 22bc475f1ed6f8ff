import { connect as connectSocket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readZip, writeZip } from "../../../src/files/zip/zip.ts";
import { type UnlLab, writeUnl } from "../../../src/hosts/eve/lab-file/unl.ts";
import { connect } from "../../../src/hosts/eve/lab-file/unl-links.ts";
import { multipart, type RawAnswer, send } from "./raw-request.ts";
import { type RecordedExchange, readTranscript } from "./recorded-exchange.ts";
import { type FakeEve, startFakeEve } from "./server.ts";

/*
 * The recorded exchanges of a real host, in their order. The fake gets the same requests, and its status line,
 * headers with their order, and body must be the same, byte for byte, except:
 *
 * - UUIDs (labs, nodes, cookies): each recorded one stands for one of the fake's, everywhere;
 * - Guacamole's tokens: 64 hex digits;
 * - the state of the machine in GET /status: disk, cached, mem, swap;
 * - size and times of an exported archive;
 * - in reimport-running the headers, which nobody wrote down.
 *
 * Times are not masked: the fake's clock has the time of the request. The time of a written file may be one second later.
 * Random values are replaced by the recorded ones.
 */
const transcripts = {
  auth: 5,
  lists: 9,
  folders: 8,
  labs: 9,
  nodes: 16,
  interfaces: 8,
  networks: 15,
  topology: 2,
  "p2p-link": 12,
  run: 22,
  configs: 13,
  lock: 9,
  "labs-ops": 16,
  "export-import": 6,
  "stale-lock": 3,
  session: 15,
  qemu: 12,
  status: 2,
  "delete-running": 13,
  textobjects: 9,
  "bulk-import": 8,
  "php8-warnings-mode": 38,
  "reimport-running": 22,
  extra: 27,
} as const;
type Transcript = keyof typeof transcripts;

/** Changes of the host itself between two requests, by hand or by accident. */
const meanwhile: Readonly<Record<string, (eve: FakeEve) => void>> = {
  // The bridge of the first node could not be made, and qemu did not run yet on that machine.
  "run 1": (eve) => eve.failNextStart({ code: 11, node: 1 }),
  "run 12": (eve) => eve.failNextStart({ code: 12, node: 5 }),
  "labs-ops 6": (eve) => eve.failNextExport(),
  "stale-lock 0": (eve) => eve.leaveLock("/Team A/lab-1.unl"),
  "stale-lock 1": (eve) => eve.removeLock("/Team A/lab-1.unl"),
  "session 8": (eve) => eve.expireSession("admin"),
  "qemu 3": (eve) => eve.failNextStart({ code: 12, node: 5 }),
  "qemu 7": (eve) => eve.failNextStart({ code: 12, node: 5 }),
  "php8-warnings-mode 0": (eve) => eve.change({ php: 8, guacamole: false }),
  "php8-warnings-mode 14": (eve) => eve.change({ guacamole: true }),
  "reimport-running 0": (eve) => eve.change({ php: 7, guacamole: false }),
};

/** Asked with the cookie of the session before. */
const oldCookie = new Set(["session 1", "session 2", "session 3"]);

const random: Readonly<Record<string, number[]>> = {
  "100-924": [400],
  "100-668": [587],
  "240-560": [254, 481, 250],
  "180-420": [367, 207, 398],
  // The load of the processor.
  "0-100": [94, 55, 42],
};

interface Outcome {
  readonly step: string;
  readonly expected: string;
  readonly got: string;
}

describe("a recorded host", () => {
  let eve: FakeEve;
  const outcomes = new Map<Transcript, Outcome[]>();

  beforeAll(async () => {
    eve = await startFakeEve({
      latency: "none",
      lockTimeoutMs: 50,
      random: (low, high) => random[`${low}-${high}`]?.shift() ?? low,
    });
    await replay(eve, outcomes);
  });
  afterAll(() => eve.close());

  test.each(Object.entries(transcripts))("%s: all of %i exchanges are the same", (name, count) => {
    const of = outcomes.get(name as Transcript) ?? [];
    expect(of).toHaveLength(count);
    const different = of.filter(({ expected, got }) => expected !== got);
    expect(different.map(({ step, got }) => `${step}\n${got}`)).toEqual(different.map(({ step, expected }) => `${step}\n${expected}`));
  });

  test("what is random was all asked for", () => {
    expect(Object.values(random).flat()).toEqual([]);
  });

  test("nothing broke in the fake", () => {
    expect(eve.defects).toEqual([]);
  });
});

async function replay(eve: FakeEve, outcomes: Map<Transcript, Outcome[]>): Promise<void> {
  const names = Object.keys(transcripts) as Transcript[];
  const steps = names.flatMap((name) => readTranscript(name).map((exchange, index) => ({ name, index, exchange })));
  steps.sort((one, other) => one.exchange.order - other.exchange.order);
  const uuids = new Map<string, string>();
  let [cookie, before]: (string | undefined)[] = [undefined, undefined];
  let archive: Buffer = Buffer.alloc(0);
  for (const { name, index, exchange } of steps) {
    const step = `${name} ${index}`;
    eve.change({ clock: () => new Date(exchange.at) });
    meanwhile[step]?.(eve);
    // From here on whoever recorded it removed the locks that PHP left, one by one.
    if (name === "php8-warnings-mode" && index >= 14) eve.removeLock("/bulk.unl");
    const { method, path } = exchange;
    const sent = exchange.upload === undefined ? { body: exchange.body } : uploads(exchange.upload, archive);
    const answer = await send(eve, { method, path, host: "127.0.0.1", cookie: oldCookie.has(step) ? before : cookie, ...sent });
    const set = answer.headers.find(([header]) => header === "Set-Cookie")?.[1].split(";")[0];
    if (set !== undefined && set !== "unetlab_session=") [before, cookie] = [cookie, set];
    if (exchange.path.startsWith("/Exports/")) archive = answer.body;
    const [expected, got] = compared(exchange, answer, uuids);
    outcomes.set(name, [...(outcomes.get(name) ?? []), { step: `${step}: ${method} ${path}`, expected, got }]);
  }
}

/** Both as texts that are the same where the answers are. */
function compared(exchange: RecordedExchange, answer: RawAnswer, uuids: Map<string, string>): readonly [string, string] {
  const { statusLine, headers, at } = exchange;
  const isFile = exchange.answer === undefined;
  const head = (line: string | undefined, fields: RawAnswer["headers"]) =>
    [
      line,
      ...fields.map(([name, value]) => (isFile && /^(Last-Modified|ETag|Content-Length)$/.test(name) ? name : `${name}: ${value}`)),
    ].join("\n");
  const body = answer.body.toString("utf8");
  const [expected, got] =
    statusLine === undefined || headers === undefined
      ? [`${exchange.status}\n${exchange.answer}`, `${answer.status}\n${body}`]
      : [
          `${head(statusLine, [["Date", new Date(at).toUTCString()], ...headers])}\n\n${exchange.answer ?? ""}`,
          `${head(answer.statusLine, answer.headers)}\n\n${isFile ? "" : body}`,
        ];
  return [masked(expected), sameUuids(masked(expected), masked(sameSeconds(expected, got)), uuids)];
}

function masked(text: string): string {
  return text.replaceAll(/token=[0-9A-F]{64}/g, "token=…").replaceAll(/"(disk|cached|mem|swap)":\d+(?=.*"vpcs":\d+\}\})/g, '"$1":…');
}

/** A recorded file may have been written a second after its request began. */
function sameSeconds(expected: string, got: string): string {
  const recorded = [...expected.matchAll(/"umtime":(\d+)/g)].map(([, time]) => Number(time));
  let index = 0;
  return got.replaceAll(/"umtime":(\d+)/g, (shown, time: string) => {
    const theirs = recorded[index++];
    return theirs === Number(time) + 1 ? `"umtime":${theirs}` : shown;
  });
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** `got` with the recorded UUIDs in place of the fake's, as far as each always stands for the same. */
function sameUuids(expected: string, got: string, uuids: Map<string, string>): string {
  const recorded = expected.match(uuid) ?? [];
  let index = 0;
  return got.replaceAll(uuid, (mine) => {
    const theirs = recorded[index++];
    const known = uuids.get(mine);
    if (known !== undefined || theirs === undefined || [...uuids.values()].includes(theirs)) return known ?? mine;
    uuids.set(mine, theirs);
    return theirs;
  });
}

describe("a recorded session of which only bodies were written down, some cut off", () => {
  const vpcs = (name: string, left: number) =>
    JSON.stringify({ template: "vpcs", type: "vpcs", name, icon: "Desktop.png", left, top: 100, ethernet: 1 });
  const linux = JSON.stringify({ template: "linux", type: "qemu", name: "L1", image: "linux-tiny-1.0", left: 300, top: 100, ethernet: 1 });
  const saved = (more = "") => `{"code":201,"status":"success","message":"Lab has been saved (60023)."${more}}`;
  const started = '{"code":200,"status":"success","message":"Node started (80049)."}';
  const stopped = '{"code":200,"status":"success","message":"Node stopped (80051)."}';
  const lab = "/api/labs/smoke.unl";
  const link =
    '{"type":"ethernet","source":"node1","source_type":"node","source_label":"eth0","destination":"network1","destination_type":"network","destination_label":""},{"type":"ethernet","source":"node2';
  const steps: readonly (readonly [string, string | undefined, number, string])[] = [
    [
      "POST /api/auth/login",
      '{"username":"admin","password":"eve","html5":"0"}',
      200,
      '{"code":200,"status":"success","message":"User logged in (90013)."}',
    ],
    [`DELETE ${lab}`, undefined, 404, '{"code":404,"status":"fail","message":"Lab does not exist (60000)."}'],
    ["POST /api/labs", '{"path":"/","name":"smoke"}', 200, '{"code":200,"status":"success","message":"Lab has been created (60019)."}'],
    [`POST ${lab}/nodes`, vpcs("PC1", 100), 201, saved(',"data":{"id":1}')],
    [`POST ${lab}/nodes`, vpcs("PC2", 200), 201, saved(',"data":{"id":2}')],
    [`POST ${lab}/nodes`, linux, 201, saved(',"data":{"id":3}')],
    [
      `POST ${lab}/networks`,
      '{"name":"net","type":"bridge","visibility":1,"left":1,"top":1}',
      201,
      '{"code":201,"status":"success","message":"Network has been added to the lab (60006).","data":{"id":1}}',
    ],
    [`PUT ${lab}/nodes/1/interfaces`, '{"0":"1"}', 201, saved()],
    [`PUT ${lab}/nodes/2/interfaces`, '{"0":"1"}', 201, saved()],
    [`PUT ${lab}/nodes/3/interfaces`, '{"0":"1"}', 201, saved()],
    [`GET ${lab}/nodes/1/start`, undefined, 200, started],
    [`GET ${lab}/nodes/2/start`, undefined, 200, started],
    [`GET ${lab}/nodes/3/start`, undefined, 200, started],
    [`GET ${lab}/topology`, undefined, 200, `{"code":"200","status":"success","message":"Topology loaded","data":[${link}`],
    [
      `GET ${lab}/nodes`,
      undefined,
      200,
      '{"code":200,"status":"success","message":"Successfully listed nodes (60026).","data":{"1":{"console":"telnet","delay":0,"id":1,"left":100,"icon":"Desktop.png","image":"","name":"PC1","ram":1024,"status":2,"template":"vpcs","type":"vpcs","top":100,"url":"telnet',
    ],
    [`GET ${lab}/nodes/1/stop`, undefined, 200, stopped],
    [`GET ${lab}/nodes/2/stop`, undefined, 200, stopped],
    [`GET ${lab}/nodes/3/stop`, undefined, 200, stopped],
    [`GET ${lab}/nodes/wipe`, undefined, 200, '{"code":200,"status":"success","message":"Nodes cleared (80052)."}'],
    [`DELETE ${lab}`, undefined, 200, '{"code":200,"status":"success","message":"Lab has been deleted (60022)."}'],
    ["GET /api/auth/logout", undefined, 200, '{"code":200,"status":"success","message":"User logged out (90019)."}'],
  ];

  test("smoke: all of 21 bodies begin the same, and the consoles", async () => {
    await using eve = await startFakeEve({ latency: "none" });
    let cookie: string | undefined;
    for (const [line, body, status, start] of steps) {
      const [method = "", path = ""] = line.split(" ");
      const answer = await send(eve, { method, path, host: "127.0.0.1", cookie, body });
      cookie ??= answer.headers.find(([name]) => name === "Set-Cookie")?.[1].split(";")[0];
      expect([line, answer.status, answer.body.toString().slice(0, start.length)]).toEqual([line, status, start]);
      if (path === `${lab}/nodes` && method === "GET") {
        const vpcsAsks = "\xff\xfd\x01\xff\xfb\x01\xff\xfd\x03\xff\xfb\x03";
        const qemuAsks = "\xff\xfb\x01\xff\xfb\x03\xff\xfb\x00\xff\xfd\x00\x1b]0;L1\x07";
        const welcome = `${vpcsAsks}\r\r\nWelcome to Virtual PC Simulator, version 0.5b2\r\r\nDedicated to Daling.\r\r\n`;
        expect(await firstBytes(eve.address, 32769, welcome.length)).toBe(welcome);
        expect(await firstBytes(eve.address, 32771, qemuAsks.length)).toBe(qemuAsks);
      }
    }
    expect(steps).toHaveLength(21);
    expect(eve.defects).toEqual([]);
  });
});

function firstBytes(host: string, port: number, count: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connectSocket(port, host);
    socket.on("error", reject);
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      if (text.length >= count) socket.destroy();
    });
    socket.on("close", () => resolve(text.slice(0, count)));
  });
}

test("concurrency: parallel POSTs all count, parallel DELETEs lose each other", async () => {
  await using eve = await startFakeEve({ latency: { call: 0, save: 50, nodeStatus: 0, stop: 0 } });
  const answer = await send(eve, {
    method: "POST",
    path: "/api/auth/login",
    host: "eve",
    body: '{"username":"admin","password":"eve","html5":"0"}',
  });
  const cookie = answer.headers.find(([name]) => name === "Set-Cookie")?.[1].split(";")[0];
  const call = async (method: string, path: string, body?: string) => {
    const { status, body: bytes } = await send(eve, { method, path, host: "eve", cookie, body });
    return { status, json: JSON.parse(bytes.toString()) as { message: string; data: { id: number } & Record<string, unknown> } };
  };
  await call("POST", "/api/labs", '{"path":"/","name":"conc"}');
  const node = (name: string) => JSON.stringify({ template: "vpcs", type: "vpcs", name, left: "1", top: "1", ethernet: "1" });
  const added = await Promise.all(Array.from({ length: 16 }, (_, index) => call("POST", "/api/labs/conc.unl/nodes", node(`c${index}`))));
  expect(new Set(added.map(({ status, json }) => `${status} ${json.message}`))).toEqual(new Set(["201 Lab has been saved (60023)."]));
  expect(added.map(({ json }) => json.data.id).sort((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, index) => index + 1));
  const present = async () => Object.keys((await call("GET", "/api/labs/conc.unl/nodes")).json.data);
  expect(await present()).toHaveLength(16);
  const deleted = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((id) => call("DELETE", `/api/labs/conc.unl/nodes/${id}`)));
  expect(deleted.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 200, 200]);
  // One of eight counts on an idle machine; on a busy one a call may begin after another has saved.
  const left = await present();
  expect(left.length).toBeGreaterThan(8);
  expect(left.length).toBeLessThan(16);
  expect(eve.defects).toEqual([]);
});

/** The uploaded files, as far as their effects show them. */
function uploads(name: string, archive: Buffer): { readonly body: Buffer; readonly contentType: string } {
  switch (name) {
    case "raw":
      return multipart("/B", "lab-1.unl", Buffer.from("<lab/>"));
    case "exported":
      expect(readZip(archive).map(({ name: file }) => file)).toEqual(["lab-1.unl"]);
      return multipart("/", "exp.zip", archive);
    case "bulk":
      return zipped("/", "bulk.unl", bulk());
    case "re-1":
      return zipped("/", "re.unl", pcs(2));
    case "re-2":
      return zipped("/", "re.unl", pcs(3));
    case "imp":
      return zipped("/imp", "sub/re2.unl", { ...pcs(2), name: "re2", id: "none" });
    default:
      return multipart("/", "bad.zip", writeZip([{ name: "bad.unl", data: Buffer.from("<lab") }]));
  }
}

function zipped(path: string, name: string, lab: UnlLab): { readonly body: Buffer; readonly contentType: string } {
  return multipart(path, "lab.zip", writeZip([{ name, data: Buffer.from(writeUnl(lab)) }]));
}

const empty: UnlLab = { version: "1", scripttimeout: 300, lock: 0, nodes: [], networks: [], textObjects: [], pictures: [], configs: [] };
const pc = (id: number, more: object) => ({
  id,
  type: "vpcs",
  template: "vpcs",
  image: "",
  ethernet: 1,
  delay: 0,
  config: "0",
  top: 100,
  interfaces: [],
  ...more,
});

function bulk(): UnlLab {
  const ids = Array.from({ length: 20 }, (_, index) => index + 1);
  const icon = "PC-2D-Desktop-Generic-S.svg";
  const lab: UnlLab = {
    ...empty,
    name: "bulk",
    id: "11111111-2222-4333-8444-555555555555",
    author: "planner",
    description: "made in one call",
    nodes: ids.map((id) => pc(id, { name: `pc${id}`, icon, left: 40 * id, config: "1" })),
    configs: ids.map((id) => ({ id, text: `set pcname pc${id}\nip 10.1.1.${id}/24\n` })),
  };
  const odd = ids.filter((id) => id % 2 === 1);
  return odd.reduce(
    (joined, id) => connect(joined, { node: id, interface: 0 }, { node: id + 1, interface: 0 }, { name: `p${id}`, left: 1, top: 1 }),
    lab,
  );
}

function pcs(count: number): UnlLab {
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  const nodes = ids.map((id) => pc(id, { name: `PC${id}`, icon: "Desktop.png", left: 100 * id }));
  const lab: UnlLab = { ...empty, name: "re", id: "22222222-2222-4333-8444-555555555555", nodes };
  return connect(lab, { node: count - 1, interface: 0 }, { node: count, interface: 0 }, { name: "p", left: 1, top: 1 });
}
