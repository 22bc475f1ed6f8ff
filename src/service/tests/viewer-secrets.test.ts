import { afterEach, expect, test } from "vitest";
import type { OperationId } from "../../contract/operations.ts";
import type { EventData } from "../../contract/schemas/observe.ts";
import { readIntent } from "../../intent/read/read.ts";
import { plainSchema } from "../../intent/schema.ts";
import type { JsonSchema } from "../../intent/schema-object.ts";
import { type Bench, type Client, createBench, failureOf } from "../service.fixture.ts";

const benches: Bench[] = [];
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

const lab = "/pair";
const yaml = `name: pair
description: "sign in with the password hush-description"
vars: {pass: hush-vars}
vars-files: [vars.yaml]
defaults: {env: {API_TOKEN: hush-env-name}}
nodes:
  r1:
    template: frr
    startup-config: r1.conf
    env: {OPTIONS: "--password=hush-env", PASSWORD: "$\{pass}", TOKEN: "$\{token}"}
    attributes: {daemons: "bgpd password hush-attributes"}
    labels: {password: hush-label-name, note: "the password is hush-labels"}
    exec: ["login ann password hush-exec"]
    ready:
      - {http: "http://ann:hush-ready-http@10.0.0.1/"}
      - {http: {url: "http://10.0.0.1/?token=hush-ready-http.url", contains: "password hush-ready-http.contains"}}
      - {command: "echo token=hush-ready-command"}
      - {command: {run: "echo password hush-ready-command.run", contains: "secret hush-ready-command.contains", lacks: "key=hush-ready-command.lacks"}}
      - {config: "neighbor 1.1.1.1 password hush-ready-config"}
      - {config: {contains: ["neighbor 1.1.1.1 password hush-ready-config.contains"], lacks: "enable secret hush-ready-config.lacks"}}
      - {neighbor: {protocol: ospf, peer: 1.1.1.1, state: "secret hush-ready-state"}}
  r2: {template: frr, startup-config: {text: "enable password hush-config.text"}}
  r3: {template: frr, startup-config: "hostname r3\\nenable secret hush-config\\n"}
  r4: {template: frr, startup-config: {template: r4.j2}}
  h1:
    template: linux
    files:
      /srv/api-token: "hush-file-path\\n"
      /etc/app: "password: hush-files\\n"
      /etc/text: {text: "user: ann\\npassword: hush-files.text\\n"}
      /etc/from: {from: app.conf}
    binds: ["bind.conf:/etc/bind"]
texts: [{text: "the password is hush-texts", x: 1, y: 2}]
tests:
  - {from: h1, name: "the password hush-tests.name works", command: "true"}
  - {from: h1, http: "http://ann:hush-tests.http@10.0.0.1/"}
  - {from: h1, http: {url: "http://10.0.0.1/?token=hush-tests.http.url", contains: "password hush-tests.http.contains"}}
  - {from: h1, command: "curl -H 'Authorization: Bearer hush-tests.command' http://x"}
  - {from: h1, command: {run: "echo password hush-tests.command.run", contains: "secret hush-tests.command.contains", lacks: "key=hush-tests.command.lacks"}}
  - {from: r1, config: "neighbor 1.1.1.1 password hush-tests.config"}
  - {from: r1, config: "neighbor 1.1.1.1 password hush-tests.config-2"}
  - {from: r1, config: {contains: ["neighbor 1.1.1.1 password hush-tests.config.contains"], lacks: "enable secret hush-tests.config.lacks"}}
  - {from: r1, neighbor: {protocol: ospf, peer: 1.1.1.1, state: "secret hush-tests.state"}}
`;
const files = {
  "vars.yaml": "token: hush-vars-file\n",
  "r1.conf": "hostname r1\nenable password hush-config-file\n",
  "r4.j2": "hostname {{ node.key }}\nenable password hush-config.template\n",
  "app.conf": "password: hush-files.from\n",
  "bind.conf": "password: hush-binds\n",
};
const within = yaml.replaceAll("- {from:", "- {within: 0, from:");

/** The free texts of the language, with the names of their secrets above. A new text of the schema needs a row here or below. */
const withSecret: Readonly<Record<string, readonly string[]>> = {
  description: ["description"],
  "node.startup-config": ["config", "config-file"],
  "node.startup-config.text": ["config.text"],
  "node.startup-config.template": ["config.template"],
  "node.env.*": ["env", "env-name"],
  "node.attributes.*": ["attributes"],
  "node.labels.*": ["labels", "label-name"],
  "node.exec": ["exec"],
  "node.files.*": ["files", "file-path"],
  "node.files.*.text": ["files.text"],
  "node.files.*.from": ["files.from"],
  "node.binds": ["binds"],
  "text.text": ["texts"],
  "tests.name": ["tests.name"],
  "tests.http": ["tests.http"],
  "tests.http.url": ["tests.http.url"],
  "tests.http.contains": ["tests.http.contains"],
  "tests.command": ["tests.command"],
  "tests.command.run": ["tests.command.run"],
  "tests.command.contains": ["tests.command.contains"],
  "tests.command.lacks": ["tests.command.lacks"],
  "tests.config": ["tests.config", "tests.config-2"],
  "tests.config.contains": ["tests.config.contains"],
  "tests.config.lacks": ["tests.config.lacks"],
  "tests.neighbor.state": ["tests.state"],
  "node.ready.http": ["ready-http"],
  "node.ready.http.url": ["ready-http.url"],
  "node.ready.http.contains": ["ready-http.contains"],
  "node.ready.command": ["ready-command"],
  "node.ready.command.run": ["ready-command.run"],
  "node.ready.command.contains": ["ready-command.contains"],
  "node.ready.command.lacks": ["ready-command.lacks"],
  "node.ready.config": ["ready-config"],
  "node.ready.config.contains": ["ready-config.contains"],
  "node.ready.config.lacks": ["ready-config.lacks"],
  "node.ready.neighbor.state": ["ready-state"],
  "vars.*": ["vars", "vars-file"],
};

/** Texts without a place for a secret, with the reason. */
const withoutSecret: readonly (readonly [reason: string, paths: RegExp])[] = [
  ["a name, which everybody who sees the lab sees", /^(?:name|(?:node|network|filter)\.name)$/],
  [
    "the name of something else",
    /^(?:tests\.(?:from|given\.\w+)|node\.(?:kind|group|groups|template|image|icon|depends-on|stages\.\*\.wait-for\.\w+)|network\.(?:type|icon)|filter\.(?:nodes|links)|link(?:\.(?:full-mesh|ring|(?:star|clos)\.\w+))?|endpoint(?:\.\w+)?)$/,
  ],
  ["an address of a pool or of an area", /^addressing\.\w+\.ipv[46]$|^(?:node\.)?routing\.(?:ospf|isis)\.area$|^node\.addresses\.\*$/],
  ["an address, a port or a prefix", /^(?:management|mgmt)\.ipv[46]-subnet$|^node\.(?:ports|mgmt-ipv[46])$|^network\.vxlan\.remote$/],
  ["an address or a word without blanks and signs", /^(?:tests|node\.ready)\.(?:ping|port|route|path|neighbor)(?:\.(?!state)\w+)?$/],
  ["interfaces and VLANs", /^switching\./],
  ["a public key", /^node\.ssh-keys$/],
  ["an amount, a mode or a user", /^node\.(?:ram|memory|image-pull-policy|files\.\*\.(?:mode|owner))$/],
  ["names of files", /^vars-files$/],
  ["a machine of the fleet, and its labels", /^place\.(?:machine|labels\.\*)$/],
  ["a duration", /^lease(?:\.(?:for|idle))?$/],
  ["a colour, and a filter that must compile", /^(?:filter\.(?:color|match)|(?:box|line)\.(?:color|fill))$/],
];

/** Returns the places of the language where a text may be written: those of nodes and of what they inherit are the same. */
function textsOf(schema: JsonSchema): ReadonlySet<string> {
  const found = new Set<string>();
  const walk = (part: unknown, path: string): void => {
    if (typeof part !== "object" || part === null || "$ref" in part) return;
    const { type, anyOf = [], oneOf = [], items, properties = {}, additionalProperties } = part as Readonly<Record<string, never>>;
    if ([type].flat().includes("string" as never)) found.add(path);
    for (const one of [...(anyOf as unknown[]), ...(oneOf as unknown[])]) walk(one, path);
    walk(items, path);
    for (const [key, one] of Object.entries(properties)) walk(one, path === "" ? key : `${path}.${key}`);
    walk(additionalProperties, `${path}.*`);
  };
  walk(schema, "");
  for (const [name, part] of Object.entries(schema["definitions"] as object)) walk(part, name === "inheritable" ? "node" : name);
  return found;
}

test("it is decided for each text of the language whether it may contain a secret", () => {
  const undecided = [...textsOf(plainSchema)].filter(
    (path) => !Object.hasOwn(withSecret, path) && !withoutSecret.some(([, paths]) => paths.test(path)),
  );
  expect(undecided).toEqual([]);
  expect([...textsOf(plainSchema)]).toEqual(expect.arrayContaining(Object.keys(withSecret)));
  const planted = [...`${yaml}${Object.values(files).join()}`.matchAll(/hush-([\w.-]*\w)/g)].map(([, name]) => name);
  expect(planted.sort()).toEqual(Object.values(withSecret).flat().sort());
});

type Ask = (client: Client) => Promise<unknown>;

const other = "name: pair\nnodes:\n  r1: {template: linux}\n";
const changes = {
  r1: "r1: {template: frr, startup-config: mine.conf}",
  h1: "h1: {template: linux, files: {/srv/api-token: mine}, labels: {password: mine}}",
};
const edited = `name: pair\ndescription: mine\nnodes:\n  ${changes.r1}\n  ${changes.h1}\ntexts: [{text: mine, x: 1, y: 2}]\n`;

/** The calls that a user with the `view` right may make. For each other operation, the reason why its answers contain no text of an intent. */
const asked: Readonly<Record<OperationId, Readonly<Record<string, Ask>> | string>> = {
  getProjectStatus: {
    status: (client) => client.call("getProjectStatus", { lab }),
    report: (client) => client.call("getProjectStatus", { lab, report: true }),
  },
  inspectProject: {
    cached: (client) => client.call("inspectProject", { lab }),
    fresh: (client) => client.call("inspectProject", { lab, refresh: true }),
  },
  getPublicProject: { public: (client) => client.call("getPublicProject", { lab }) },
  listHistory: { history: (client) => client.call("listHistory", { lab }) },
  getHistoryText: {
    "the first state": async (client) =>
      client.call("getHistoryText", { lab, serial: (await client.call("listHistory", { lab })).entries.at(-1)!.serial }),
  },
  planProject: Object.fromEntries(
    ["to_host", "from_host"].flatMap((direction) =>
      [undefined, other, edited].map((text, index) => [
        `${direction} ${index}`,
        (client: Client) =>
          client.call("planProject", { lab, direction, prune: true, ...(text && { yaml: text, files: { "mine.conf": "mine\n" } }) }),
      ]),
    ),
  ),
  reconcileProject: {
    pull: (client) => client.call("reconcileProject", { lab, direction: "from_host" }),
    peek: (client) => client.call("reconcileProject", { lab, direction: "from_host", peek: true }),
    "own text": (client) => client.call("reconcileProject", { lab, direction: "from_host", yaml: other }),
  },
  validateProject: { recorded: (client) => client.call("validateProject", { lab } as never) },
  completeLinkInterfaces: { recorded: (client) => client.call("completeLinkInterfaces", { lab, endpoints: ["r1", "r2"] } as never) },
  previewInterfaces: { recorded: (client) => client.call("previewInterfaces", { lab, node: "r1" } as never) },
  openProject: { open: (client) => client.call("openProject", { lab }) },
  listProjectConsoles: { consoles: (client) => client.call("listProjectConsoles", { lab }) },
  importProject: { copy: (client) => client.call("importProject", { lab }) },
  listLabs: { labs: (client) => client.get("listLabs") },
  getLabGrants: { grants: (client) => client.get("getLabGrants", {}, { lab }) },
  listCaptures: { captures: (client) => client.get("listCaptures", {}, { lab }) },
  listSwitches: { switches: (client) => client.get("listSwitches", {}, { lab }) },
  listSnapshots: { snapshots: (client) => client.get("listSnapshots", {}, { lab }) },
  listPictures: { pictures: (client) => client.get("listPictures", {}, { lab }) },
  getTasks: { tasks: (client) => client.get("getTasks", {}, { lab }) },
  listJobs: { jobs: (client) => client.get("listJobs", {}, { lab }) },
  getMetrics: { metrics: (client) => client.get("getMetrics") },
  testProject: { tests: (client) => client.call("testProject", { lab }) },
  execProject: { start: (client) => client.call("execProject", { lab, action: "start" }) },
  events: "read in a test below",
  getJob: "read in a test below",
  ...nothing("no lab", [
    ...(["getHealth", "login", "finishLogin", "logout", "getSession", "createBrowserSession", "getCapabilities", "getOpenApi"] as const),
    ...([
      "listTemplates",
      "getTemplate",
      "listTemplateImages",
      "listTemplateAttributes",
      "listNetworkTypes",
      "listIcons",
      "importFile",
    ] as const),
    ...(["createToken", "listTokens", "revokeToken"] as const),
    ...([
      "getHostLoad",
      "listHostUsers",
      "listQuotas",
      "setQuota",
      "listReservations",
      "createReservation",
      "removeReservation",
      "listMachines",
      "setMachine",
      "removeMachine",
      "drainMachine",
      "createJoinToken",
      "setHostUser",
      "removeHostUser",
      "listQuarantine",
      "restoreQuarantined",
      "deleteQuarantined",
    ] as const),
    ...(["listDisks", "removeDisks", "cancelJob"] as const),
    ...(["importDisks", "uploadDiskPart", "finishDiskImport", "removeDiskTransfer"] as const),
  ]),
  ...nothing("needs the right to edit or to own", [
    ...([
      "deployProject",
      "destroyProject",
      "editProject",
      "setLabGrants",
      "setLabLock",
      "setLabResume",
      "extendLease",
      "saveConfigs",
    ] as const),
    ...(["resumeLab", "renumberLab", "takeSnapshot", "restoreSnapshot", "removeSnapshot", "adoptLab"] as const),
  ]),
  ...nothing("the contents of nodes and links, and of the host, not the intent", [
    ...(["execConsole", "execConsoleMany", "attachConsole", "readConsoleLog", "runConsole", "streamConsole", "execNodes"] as const),
    ...(["attachProcess", "copyFiles", "streamProcess", "attachTraffic", "streamTraffic", "getPicture"] as const),
    ...(["applyLinkQuality", "setLinkSuspend", "startCapture", "getCapture", "downloadCapture", "listCapturePackets"] as const),
    ...(["getCapturePacket", "stopCapture", "removeCapture", "attachCapture", "streamCapture"] as const),
    ...(["exportDisks", "downloadDisk"] as const),
  ]),
};

function nothing<Id extends OperationId>(reason: string, ids: readonly Id[]): Record<Id, string> {
  return Object.fromEntries(ids.map((id) => [id, reason])) as Record<Id, string>;
}

/** Returns the secrets in an answer, or in a failure. */
async function secretsIn(answer: Promise<unknown>): Promise<readonly string[]> {
  const text = await answer.then(
    (data) => JSON.stringify(data) ?? "",
    (error) => JSON.stringify([error.code, error.message, error.data]),
  );
  return [...text.matchAll(/hush-[\w.-]*\w/g)].map(([found]) => found);
}

async function shared(right: "view" | "operate" | "edit"): Promise<{ bench: Bench; ann: Client; bob: Client; eve: Client }> {
  const bench = createBench();
  benches.push(bench);
  const [ann, bob, eve] = [await bench.login(), await bench.login("bob"), await bench.login("eve")];
  const line = {
    file: "/home/ann/hush-folder.yaml",
    path: "/nodes/r1/env/PASSWORD=hush-path",
    level: "dropped",
    message: "the command: enable password hush-report",
  };
  const host = { kind: "eve", url: "https://ann:hush-url@eve.example/" };
  await ann.call("deployProject", {
    yaml: within,
    files,
    source: { format: "cml", lab: "/home/ann/hush-folder.yaml", host, report: [line] },
  });
  await ann.call("setLabGrants", { lab, grants: [{ user: "bob", right }] });
  return { bench, ann, bob, eve };
}

test.each(["view", "operate"] as const)(
  "no answer shows a viewer or a user with the right %s a secret of any text of the intent",
  async (right) => {
    const { ann, bob, eve } = await shared(right);
    const calls = Object.entries(asked).flatMap(([id, of]) =>
      typeof of === "string" ? [] : Object.entries(of).map(([name, ask]) => [`${id}: ${name}`, ask] as const),
    );
    const answered = ["getProjectStatus", "inspectProject", "getPublicProject", "planProject", "reconcileProject", "listJobs"];
    for (const [name, ask] of calls) {
      if (answered.some((id) => name.startsWith(id))) await ask(bob);
      for (const client of [bob, eve])
        expect([client.caller.user, name, await secretsIn(ask(client))]).toEqual([client.caller.user, name, []]);
    }
    // The same answers contain secrets for the owner.
    const read = await secretsIn(ann.call("getPublicProject", { lab, as_written: true }));
    expect(read.length).toBe(Object.values(withSecret).flat().length);
    expect(await secretsIn(ann.call("testProject", { lab }))).toContain("hush-tests.config");
    expect(await secretsIn(ann.call("getProjectStatus", { lab, report: true }))).toEqual([
      "hush-folder.yaml",
      "hush-folder.yaml",
      "hush-path",
      "hush-report",
    ]);
    expect((await bob.call("getProjectStatus", { lab, report: true })).source).toMatchObject({
      format: "cml",
      report: [{ level: "dropped" }],
    });
  },
);

test("no event, and no job of a user who made it, contains a secret of any text of the intent", async () => {
  const { ann, bob, eve } = await shared("edit");
  const events = (await eve.get("events", {}, { lab })) as AsyncIterable<EventData>;
  await bob.call("deployProject", { yaml: edited, files: { "mine.conf": "mine\n" }, replace: true });
  const { plan_identity: identity } = await bob.call("planProject", { lab, yaml: within, files, prune: true });
  await bob.call("reconcileProject", { lab, yaml: within, files, prune: true, confirm: true, plan_identity: identity! });
  await bob.call("testProject", { lab });
  await failureOf(
    bob.call("reconcileProject", { lab, yaml: `${within}  - {from: h1, command: 'echo password hush-invalid', expect: no}\n`, files }),
  );
  let read = 0;
  for await (const event of events) {
    expect(JSON.stringify(event)).not.toContain("hush");
    if (event.type === "job" && (event.data as { operation?: string; status?: string }).operation === "testProject") read += 1;
    if (read === 2) break;
  }
  await ann.call("setLabGrants", { lab, grants: [] });
  const { jobs } = await bob.get("listJobs", {}, {});
  expect(jobs.map(({ operation }) => operation)).toEqual(expect.arrayContaining(["deployProject", "reconcileProject", "testProject"]));
  for (const { job } of jobs) expect(await secretsIn(bob.get("getJob", { id: job }))).toEqual([]);
});

test("the public text of a lab is a valid intent, and an edit of it keeps the secrets", async () => {
  const { ann, bob } = await shared("view");
  const shown = await bob.call("getPublicProject", { lab });
  const { lab: read, diagnostics } = readIntent(shown.yaml, shown.files);
  expect(diagnostics).toEqual([]);
  expect(read?.tests?.map(({ name }) => name)).toContain("r1: config neighbor 1.1.1.1 password (sensitive) (2)");
  const before = readIntent(within, files).lab;
  for (const [section, value] of [
    ["description", read?.description],
    ["texts", read?.texts],
  ] as const) {
    await ann.call("editProject", { lab, section, value } as never);
    const now = await ann.call("getPublicProject", { lab, as_written: true });
    expect([section, readIntent(now.yaml, now.files).lab]).toEqual([section, before]);
  }
});
