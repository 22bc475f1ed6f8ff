import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { converse } from "./converse.ts";
import { call, destroyLabs, login } from "./fuzz.ts";
import { ServiceProcess } from "./service-process.ts";

let service: ServiceProcess;
let token: string;

beforeAll(async () => {
  service = await ServiceProcess.start();
  token = await login(service);
});
beforeEach(() => destroyLabs(service, token, () => true));
afterAll(() => service[Symbol.asyncDispose]());

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

/** A body as text: JSON.stringify would set a prototype where a key is meant. */
async function post(path: string, body: string): Promise<Answer> {
  const head = `POST /api/v1/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const { replies } = await converse(service.port, Buffer.from(head + body), { waitMs: 30_000, quietMs: 0 });
  const [reply] = replies;
  if (reply === undefined) throw new Error("no answer");
  return { status: reply.status, json: JSON.parse(reply.body.toString()) };
}

const json = JSON.stringify;
const small = "name: p\nnodes: {a: {template: linux}}\n";

describe("keys of a body that reach for the prototype", () => {
  const ways: readonly [string, (load: string) => string][] = [
    ["__proto__", (load) => `"__proto__":${load}`],
    ["__proto__ in escapes", (load) => `"\\u005f_proto_\\u005f":${load}`],
    ["constructor.prototype", (load) => `"constructor":{"prototype":${load}}`],
    ["prototype", (load) => `"prototype":${load}`],
    ["__proto__ inside of an unknown field", (load) => `"x":{"__proto__":${load}}`],
    ["__proto__ inside of files", (load) => `"files":{"__proto__":"x"},"y":${load}`],
  ];

  test.each(ways)("%s gives a request no field that it does not have", async (_name, way) => {
    expect((await post("projects/deploy", json({ lab: "/p", yaml: small }))).status).toBe(200);
    const load = json({ lab: "/p", yaml: small, replace: true, confirm: true, prune: true, dir: "/tmp", action: "wipe" });
    // Were the field inherited, it would be another answer.
    expect((await post("projects/deploy", `{"lab":"/p","yaml":${json(small)},${way(load)}}`)).json.code).toBe("lab_exists");
    expect((await post("projects/plan", `{${way(load)}}`)).json.code).toBe("bad_request");
    expect((await post("projects/exec", `{"lab":"/p",${way(load)}}`)).json.data.problems[0].path).toBe("/action");
    expect((await post("login", `{${way('{"username":"admin","password":"x"}')}}`)).json.ok).toBe(false);
  });

  test.each(ways)("%s leaves the service as it was", async (_name, way) => {
    const before = await call(service, "GET", "/health");
    const load = '{"polluted":1,"ok":false,"code":"x","status":500,"toString":1,"toJSON":1,"then":1,"message":"x","provisioned":"true"}';
    for (const path of ["projects/plan", "projects/status", "projects/exec", "console/exec", "authoring/interfaces", "login"]) {
      await post(path, `{"state":{${way(load)}},"source":{${way(load)}},"attributes":{${way(load)}},${way(load)}}`);
    }
    expect(await call(service, "GET", "/health")).toEqual(before);
    expect((await call(service, "GET", "/api/v1/session", token)).json).toMatchObject({ ok: true, data: { username: "admin" } });
  });

  test("a state whose maps have such keys is refused or read, never obeyed", async () => {
    const { json: deployed } = await post("projects/deploy", json({ lab: "/p", yaml: small }));
    const state = json(deployed.data.state);
    const polluted = state.replace('"nodes":{', '"nodes":{"__proto__":{"id":"1","name":"x"},"constructor":{"id":"1","name":"y"},');
    const answer = await post("projects/plan", `{"lab":"/p","yaml":${json(small)},"state":${polluted}}`);
    expect(answer.status).toBe(200);
    expect(answer.json.data.operations).toEqual([]);
  });
});

describe("names that every object has, as names in an intent", () => {
  const names = ["constructor", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf", "length", "then", "toJSON"];

  test("are nodes, networks and labels like any other", async () => {
    const yaml = `name: constructor
kinds: {constructor: {template: linux}, toString: {template: frr}}
groups: {valueOf: {env: {constructor: a, toString: b}}}
nodes:
${names.map((name, index) => `  ${name}: {kind: ${index % 2 ? "toString" : "constructor"}, group: valueOf, labels: {constructor: x}}`).join("\n")}
networks: {hasOwnProperty2: {type: bridge}, constructor2: {type: bridge}}
links:
  - ["constructor:eth0", "toString:eth0"]
  - ["valueOf:eth1", "constructor2"]
`;
    const deployed = await post("projects/deploy", json({ lab: "/constructor/toString", yaml }));
    expect([deployed.status, deployed.json.data?.nodes]).toEqual([200, names.length]);
    expect(Object.keys(deployed.json.data.state.nodes).sort()).toEqual([...names].sort());
    const plan = await post("projects/plan", json({ lab: "/constructor/toString", yaml, state: deployed.json.data.state }));
    expect(plan.json.data.operations).toEqual([]);
    const { json: status } = await post("projects/status", json({ lab: "/constructor/toString" }));
    expect(status.data.live.nodes.map(({ node }: { node: string }) => node).sort()).toEqual([...names].sort());
    const from = await post("projects/reconcile", json({ lab: "/constructor/toString", yaml, direction: "from_host" }));
    expect(from.json.data.status).toBe("unchanged");
    for (const node of names) {
      const { json: ran } = await post("console/exec", json({ lab: "/constructor/toString", node, command: "hostname", timeout_ms: 5000 }));
      expect(ran.data?.output ?? ran).toBe(node);
    }
  });

  test.each(["__proto__", "constructor", "toString", "valueOf"])(
    "a lab, node, template or job that is not there is not found as %s",
    async (name) => {
      expect((await post("projects/inspect", json({ lab: name }))).json.code).toBe("lab_not_found");
      await post("projects/deploy", json({ lab: "/p", yaml: small }));
      expect((await post("projects/exec", json({ lab: "/p", action: "stop", node: name }))).json.code).toBe("node_not_found");
      expect((await post("console/attach", json({ lab: "/p", node: name }))).json.code).toBe("node_not_found");
      expect((await post("authoring/interfaces", json({ template: name }))).json.code).toBe("template_not_found");
      expect((await call(service, "GET", `/api/v1/templates/${name}`, token)).json.code).toBe("template_not_found");
      expect((await call(service, "GET", `/api/v1/jobs/${name}`, token)).json.code).toBe("job_not_found");
      expect((await post("projects/exec", json({ lab: "/p", action: name }))).json.code).toBe("invalid_action");
      expect((await post("projects/plan", json({ lab: "/p", yaml: small, direction: name }))).json.code).toBe("invalid_direction");
    },
  );

  test.each([
    "name: x\n__proto__: {nodes: {a: {template: linux}}}\n",
    "name: x\nnodes: {__proto__: {template: linux}}\n",
    "name: x\nnodes: {a: {__proto__: {template: linux}}}\n",
    "name: x\ndefaults: {__proto__: {template: linux}}\nnodes: {a: {}}\n",
    "name: x\nnodes: {a: {template: __proto__}}\n",
    "name: x\nkinds: {k: {template: linux}}\nnodes: {a: {kind: __proto__}}\n",
    'name: x\nlinks: [["__proto__:eth0", "constructor:eth0"]]\n',
    "name: __proto__\n",
    "name: x\nnodes: {a: {template: linux, <<: {__proto__: {image: y}}}}\n",
    "name: x\nlinks: [{endpoints: [a, b], quality: toString}]\n",
  ])("an intent is refused, not obeyed: %j", async (yaml) => {
    const answer = await post("projects/deploy", json({ lab: "/p", yaml }));
    expect([answer.status, answer.json.code]).toEqual([422, "invalid_intent"]);
  });

  test("env, labels and attributes keep such keys as keys", async () => {
    const yaml = "name: x\nnodes: {a: {template: linux, env: {__proto__: a, constructor: b}, labels: {__proto__: c}}}\n";
    const answer = await post("projects/deploy", json({ lab: "/p", yaml }));
    if (answer.status === 200) {
      expect((await post("projects/plan", json({ lab: "/p", yaml }))).json.data.operations).toEqual([]);
      const changed = await post("projects/plan", json({ lab: "/p", yaml: yaml.replace("__proto__: a", "__proto__: z") }));
      expect(changed.json.data.operations).not.toEqual([]);
    } else expect(answer.json.code).toBe("invalid_intent");
  });
});

describe("paths that climb or lie", () => {
  const bad = [
    "../x",
    "/../x",
    "/a/../b",
    "/a/./b",
    "//a",
    "/a//b",
    "/a/",
    "/",
    "a\\b",
    "/a\0b",
    "/a\nb",
    "/..",
    "/%2e%2e",
    "/é",
    `/${"a".repeat(65)}`,
    "/a/b/c/d/e/f/g/h/i",
  ];

  test.each(bad)("the lab %j is refused everywhere", async (lab) => {
    for (const path of ["plan", "deploy", "status", "inspect", "destroy", "consoles", "reconcile"]) {
      const answer = await post(`projects/${path}`, json({ lab, yaml: small }));
      expect([path, answer.status, answer.json.code]).toEqual([path, 400, "bad_request"]);
    }
  });

  test.each(["../x", "/x", "a/../../x", "a\\..\\x", "C:\\x", "\\\\host\\x", "a\0b", "", ".", "a/..", "..\\x"])(
    "the file %j is refused",
    async (file) => {
      const answer = await post("projects/validate", json({ yaml: small, files: { [file]: "x" } }));
      expect([answer.status, answer.json.code]).toEqual([400, "bad_request"]);
    },
  );

  test("files that are one after normalisation are refused", async () => {
    const answer = await post("projects/validate", json({ yaml: small, files: { "a/b": "1", "./a//b": "2" } }));
    expect([answer.status, answer.json.code]).toEqual([400, "bad_request"]);
  });

  test.each(["../../etc/passwd", "/etc/passwd", "a/../../../etc/passwd"])(
    "a startup-config %j reads nothing of the machine",
    async (path) => {
      const yaml = `name: p\nnodes: {a: {template: linux, startup-config: "${path}"}}\n`;
      const answer = await post("projects/deploy", json({ lab: "/p", yaml }));
      expect([answer.status, answer.json.code]).toEqual([422, "invalid_intent"]);
      expect(json(answer.json)).not.toContain("root:");
    },
  );
});
