import { type OperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import type { RawClient } from "./raw-client.ts";
import { serve, users } from "./served.ts";

/** One request and what the service answered, as docs/api.md shows them. */
export interface Exchange {
  readonly request: string;
  readonly answer: string;
}

const yaml = `name: campus
lease: 8h
nodes:
  r1: {template: frr}
  h1: {template: linux}
links:
  - ["r1:eth0", "h1:eth0"]
traffic_filters:
  - {name: pings, match: icmp}
`;
const lab = "/campus";
const endpoints = ["r1:eth0", "h1:eth0"];

/** In this order each call has what it needs; `id` and `ticket` come from the answers before. */
const order: readonly (readonly [OperationId, object?])[] = [
  ["getHealth"],
  ["login", { username: "ann", password: "ann-password" }],
  ["getSession"],
  ["finishLogin", { code: "q83v...the-code", verifier: "q83v0lkTgX9m3Zr7bQYw1sVdNcPfHjKuEoIaTxGyBWM" }],
  ["createToken", { name: "ci", scope: "deploy", labs: ["/ci-*"], lifetime: 7_776_000 }],
  ["listTokens"],
  ["revokeToken"],
  ["getCapabilities"],
  ["listTemplates", { provisioned: "true" }],
  ["getTemplate", { id: "frr" }],
  ["listTemplateImages", { id: "frr" }],
  ["listTemplateAttributes", { id: "frr" }],
  ["listNetworkTypes"],
  ["listIcons"],
  ["getHostLoad"],
  ["listHostUsers"],
  ["setHostUser", { user: "cat", password: "correct-horse", add: true }],
  ["removeHostUser", { user: "cat" }],
  ["previewInterfaces", { template: "frr", attributes: { ethernet: 2 } }],
  ["completeLinkInterfaces", { yaml, node: "r1", excludeUsed: true }],
  ["validateProject", { yaml }],
  ["importFile", { filename: "campus.dot", text: "graph campus { r1 -- h1; r1 [fillcolor=red] }" }],
  ["planProject", { yaml }],
  ["deployProject", { yaml }],
  ["reconcileProject", { yaml, direction: "to_host" }],
  ["getProjectStatus", { lab }],
  ["inspectProject", { lab, refresh: true }],
  ["openProject", { lab }],
  ["createBrowserSession", {}],
  ["listProjectConsoles", { lab }],
  ["execConsole", { lab, node: "r1", command: "echo hello" }],
  ["execConsoleMany", { lab, command: "echo hello", targets: [{ node: "r1" }, { node: "h1" }] }],
  ["execNodes", { lab, nodes: ["r1"], argv: ["hostname"], timeout_ms: 5_000 }],
  ["attachProcess", { lab, node: "r1", terminal: { columns: 80, rows: 24 } }],
  ["streamProcess"],
  ["copyFiles", { lab, node: "r1", path: "/etc/frr", direction: "from_node" }],
  ["runConsole", { lab, node: "r1", steps: [{ send: "echo hello\r", expect: "hello" }] }],
  ["readConsoleLog", { lab, node: "r1" }],
  ["attachConsole", { lab, node: "r1" }],
  ["streamConsole"],
  ["applyLinkQuality", { lab, endpoints, a: { delay: 20, loss: 0.5 }, save: true }],
  ["setLinkSuspend", { lab, endpoints, suspended: true }],
  ["getPublicProject", { lab }],
  ["editProject", { lab, section: "description", value: "two nodes" }],
  ["listHistory", { lab }],
  ["getHistoryText", { lab, serial: 1 }],
  ["listLabs"],
  ["setLabGrants", { lab, grants: [{ user: "bob", right: "view" }] }],
  ["setLabLock", { lab, locked: false }],
  ["getLabGrants", { lab }],
  ["saveConfigs", { lab, node: "r1" }],
  ["testProject", { lab }],
  ["listJobs"],
  ["getJob"],
  ["cancelJob"],
  ["events", { lab }],
  ["importProject", { lab }],
  ["execProject", { lab, action: "stop", stopmode: 0 }],
  ["startCapture", { lab, node: "r1", interface: "eth0" }],
  ["attachTraffic", { lab, filters: ["pings"] }],
  ["setLabResume", { lab, resume: "always" }],
  ["setQuota", { kind: "user", name: "ann", labs: 5, nodes: 40, memory_mib: 8_192 }],
  ["listQuotas"],
  ["createReservation", { from: "2126-03-01T09:00:00Z", until: "2126-03-01T13:00:00Z", memory_mib: 8_192, nodes: 20 }],
  ["listReservations"],
  ["removeReservation", { id: "none" }],
  ["listMachines"],
  ["setMachine", { name: "beta", state: "cordoned" }],
  ["removeMachine", { name: "beta" }],
  ["drainMachine", { name: "beta", stop_labs: true }],
  ["createJoinToken", { hours: 2 }],
  ["extendLease", { lab, extend_ms: 7_200_000 }],
  ["adoptLab", { lab: "/lost", owner: "ann" }],
  ["getOpenApi"],
  ["getMetrics"],
];

/** A real exchange of every operation, from the real service on the memory host; ids, tokens and times are made the same in every run. */
export async function recordExchanges(): Promise<Readonly<Record<OperationId, Exchange>>> {
  await using served = await serve({
    host: memoryHost({ users, now: () => 0 }),
    service: {
      webUi: {
        page: (path) => `https://localhost:8443/ui/labs${path}`,
        capturePage: (id) => `https://localhost:8443/ui/captures/${id}`,
      },
    },
  });
  const [admin, ann, eve] = [await served.signIn("admin"), await served.signIn("ann"), await served.signIn("eve")];
  const by: Readonly<Partial<Record<OperationId, RawClient>>> = {
    getMetrics: eve,
    listHostUsers: admin,
    setHostUser: admin,
    removeHostUser: admin,
    setQuota: admin,
    listMachines: admin,
    setMachine: admin,
    removeMachine: admin,
    drainMachine: admin,
    createJoinToken: admin,
  };
  const exchanges = new Map<OperationId, Exchange>();
  const words: Record<string, string> = { id: "none", ticket: "0".repeat(64), number: "1" };
  const rest = (Object.keys(operations) as OperationId[])
    .filter((id) => !["destroyProject", "logout"].includes(id) && !order.some(([known]) => known === id))
    .map((id) => [id, { lab }] as const);
  for (const [id, input = {}] of [...order, ...rest, ["destroyProject", { lab }] as const, ["logout"] as const]) {
    const sent = id === "revokeToken" ? { id: words["token"] } : input;
    exchanges.set(id, await exchange(by[id] ?? ann, id, sent, words));
  }
  return Object.fromEntries([...exchanges].sort(([a], [b]) => (a < b ? -1 : 1))) as Record<OperationId, Exchange>;
}

async function exchange(client: RawClient, id: OperationId, input: object, words: Record<string, string>): Promise<Exchange> {
  const row: OperationRow = operations[id];
  const rest: Record<string, unknown> = { ...input };
  const path = row.path.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const value = String(rest[name] ?? words[name]);
    delete rest[name];
    return value;
  });
  const query = row.method === "GET" && Object.keys(rest).length > 0 ? `?${new URLSearchParams(rest as Record<string, string>)}` : "";
  const target = `${path}${query}`;
  const body = row.body === "json" ? rest : row.body === "unread" ? {} : undefined;
  const head = `${row.method} ${target}`;
  if (row.answer === "upgrade" || row.answer === "events") {
    const asked = row.answer === "upgrade" ? `Connection: Upgrade\r\nUpgrade: ${row.protocol}\r\n` : "Accept: application/x-ndjson\r\n";
    const json = body === undefined ? "" : JSON.stringify(body);
    const sent = body === undefined ? "" : `Content-Type: application/json\r\nContent-Length: ${json.length}\r\n`;
    const stream = await client.secure(
      `${head} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\n${asked}${sent}\r\n${json}`,
    );
    const lines = () =>
      stream
        .heard()
        .split("\r\n")
        .map((line) => line.trim());
    const whole = () =>
      stream.heard().includes("\r\n\r\n") && (/^HTTP\/1\.1 101/.test(stream.heard()) || lines().some((line) => line.startsWith("{")));
    while (!whole()) await new Promise((resolve) => setTimeout(resolve, 5));
    stream.socket.destroy();
    const shown = lines().filter((line) => /^(HTTP|connection: upgrade|upgrade:|content-type:|\{)/i.test(line));
    const first = shown.filter((line) => line.startsWith("{")).slice(0, 1);
    return {
      request: plain(
        `${head}\n${asked.trim().replaceAll("\r\n", "\n")}${body === undefined ? "" : `\n\n${JSON.stringify(body, null, 1)}`}`,
      ),
      answer: plain([...shown.filter((line) => !line.startsWith("{")), ...first].join("\n")),
    };
  }
  const answer = await client.call(row.method, target, body === undefined ? {} : { body: JSON.stringify(body) });
  const data = answer.json?.data;
  if (typeof data?.stream === "string") words.ticket = data.stream;
  if (id === "createToken") words.token = data.id;
  if (id === "listJobs") words.id = data.jobs[0].job;
  const text =
    answer.json === undefined
      ? answer.text.split("\n").slice(0, 4).join("\n")
      : JSON.stringify(short(answer.json, row.answer === "document" ? 2 : 12), null, 1);
  return {
    request: plain(body === undefined ? head : `${head}\n\n${JSON.stringify(body, null, 1)}`),
    answer: plain(`${answer.status}\n\n${text}`),
  };
}

/** Of a list the first entry, of a long map the first entries, of a long text its beginning; nothing deeper than `depth`. */
function short(value: unknown, depth: number): unknown {
  if (typeof value === "string") return value.length > 160 ? `${value.slice(0, 160)}…` : value;
  if (Array.isArray(value)) return value.length > 1 ? [short(value[0], depth - 1), "…"] : value.map((each) => short(each, depth - 1));
  if (typeof value !== "object" || value === null) return value;
  if (depth <= 0) return "…";
  const entries = Object.entries(value);
  const shown = entries.slice(0, 24).map(([key, each]) => [key, short(each, depth - 1)]);
  return Object.fromEntries(entries.length > 24 ? [...shown, ["…", "…"]] : shown);
}

/** Replaces values that differ from run to run. */
function plain(text: string): string {
  return text
    .replace(/\b[0-9a-f]{64}\b/g, "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8")
    .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "6f1c2a34-0b5e-4c53-9d8e-1f2a3b4c5d6e")
    .replace(/\b[0-9a-f]{24}\b/g, "4f1d0a9b8c7e6d5f4a3b2c1d")
    .replace(/"id": "[0-9a-f]{12}"/g, '"id": "9f8e7d6c5b4a"')
    .replace(/"token": "lw_[\w-]+"/g, '"token": "lw_q83v...the-token"')
    .replace(/"token": "[\w-]+"/g, '"token": "q83v...the-token"')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "2026-01-31T12:00:00.000Z")
    .replace(/"(duration_ms|uptime_ms)": \d+/g, '"$1": 12')
    .replace(/"id":"[0-9a-f]{12}-\d+"/g, '"id":"9d82355d0e73-15"')
    .replace(/^(labwright_\S+ )[\d.e+-]+$/gm, "$10");
}
