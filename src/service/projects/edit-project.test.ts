import { afterEach, describe, expect, test } from "vitest";
import type { EditPayload } from "../../contract/schemas/editing.ts";
import { maskText } from "../../engine/show/secret-words.ts";
import { memoryHost } from "../../hosts/memory/memory-host.ts";
import { readIntent } from "../../intent/read/read.ts";
import { type Bench, createBench, failureOf, listOf, pair, users } from "../service.fixture.ts";

const benches: Bench[] = [];
function bench(options: Parameters<typeof createBench>[0] = {}): Bench {
  const made = createBench(options);
  benches.push(made);
  return made;
}
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

const secrets = `# admin password is hunter2
name: pair
defaults: {env: {API_TOKEN: tok-1}}
nodes:
  r1: {template: frr, startup-config: r1.conf, env: {PLAIN: seen}}
  r2: {template: frr, exec: ["passwd: s3cret"], startup-config: {text: "enable password 8 deep"}}
links:
  - ["r1:eth1", "r2:eth1"]
`;
const files = {
  "r1.conf":
    "hostname r1\nrouter ospf\n area 0 authentication\ninterface eth1\n ip ospf message-digest-key 1 md5 abc123\nsnmp-server community public-ish RO\n",
};
const hiddenTexts = ["hunter2", "tok-1", "s3cret", "deep", "abc123", "public-ish"];

describe("the public project", () => {
  test("has no secret in it, and everything else", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: secrets, files });
    const shown = await ann.call("getPublicProject", { lab: "/pair" });
    const text = JSON.stringify(shown);
    for (const secret of hiddenTexts) expect(text).not.toContain(secret);
    expect(shown).toMatchObject({ lab: "/pair", name: "pair", traffic_filters: [] });
    expect(shown.files["r1.conf"]).toContain("hostname r1\nrouter ospf\n area 0 authentication\n");
    expect(readIntent(shown.yaml, shown.files).lab?.nodes.map(({ env }) => env)).toEqual([
      { API_TOKEN: "(sensitive)", PLAIN: "seen" },
      { API_TOKEN: "(sensitive)" },
    ]);
    expect(shown.revision).toMatch(/^[0-9a-f]{64}$/);
  });

  test("as_written returns the original text to users who may edit the lab", async () => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: secrets, files });
    const shown = await ann.call("getPublicProject", { lab: "/pair" });
    const written = await ann.call("getPublicProject", { lab: "/pair", as_written: true });
    expect(written).toMatchObject({ yaml: secrets, files, revision: shown.revision });
    await ann.call("setLabGrants", { lab: "/pair", grants: [{ user: "bob", right: "operate" }] });
    const bob = await made.login("bob");
    expect((await failureOf(bob.call("getPublicProject", { lab: "/pair", as_written: true }))).code).toBe("operation_not_allowed");
    expect((await bob.call("getPublicProject", { lab: "/pair" })).yaml).not.toContain("hunter2");
  });

  test("nothing shows a user who may not edit whether a guess of a secret is right", async () => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: secrets, files });
    await ann.call("setLabGrants", { lab: "/pair", grants: [{ user: "bob", right: "operate" }] });
    const bob = await made.login("bob");
    const asBob = async (yaml: string, texts: typeof files) => {
      const { plan_identity: identity, ...plan } = await bob.call("planProject", { lab: "/pair", yaml, files: texts });
      const { text, actions } = await bob.call("planProject", { lab: "/pair", yaml, files: texts, direction: "from_host" });
      const pulled = await bob.call("reconcileProject", { lab: "/pair", yaml, files: texts, direction: "from_host" });
      return { identity, plan, text, actions, status: "status" in pulled && pulled.status };
    };
    const right = await asBob(secrets, files);
    const wrong = await asBob(secrets.replace("tok-1", "tok-2").replace("s3cret", "other").replace("deep", "flat"), {
      "r1.conf": files["r1.conf"].replace("abc123", "abc124"),
    });
    expect(wrong).toEqual(right);
    expect(right.status).toBe("unchanged");
    const other = await asBob(secrets, { "r1.conf": files["r1.conf"].replace("hostname r1", "hostname r9") });
    expect(other.plan.actions).toMatchObject([{ key: "r1", changes: [{ field: "startup-config" }] }]);
    const before = await bob.call("getPublicProject", { lab: "/pair" });
    await ann.call("deployProject", { lab: "/pair", yaml: secrets.replace("tok-1", "tok-2"), files, replace: true });
    expect((await bob.call("getPublicProject", { lab: "/pair" })).revision).toBe(before.revision);
    const owners = await ann.call("planProject", { lab: "/pair", yaml: secrets, files });
    expect(owners.actions).toMatchObject([{ key: "r1" }, { key: "r2" }]);
  });

  test("of an unmanaged lab is the host's definition", async () => {
    const made = bench({ ownLabs: true });
    const ann = await made.login();
    await ann.call("deployProject", { yaml: secrets, files });
    made.store.labs.delete("/pair");
    const shown = await ann.call("getPublicProject", { lab: "/pair" });
    expect(readIntent(shown.yaml, shown.files).lab?.nodes.map(({ key }) => key)).toEqual(["r1", "r2"]);
    for (const secret of hiddenTexts) expect(JSON.stringify(shown)).not.toContain(secret);
  });

  test.each([
    ["username bob password 0 x", "username bob password (sensitive)"],
    ["enable secret 5 $1$abc", "enable secret (sensitive)"],
    [" neighbor 10.0.0.1 password hush", " neighbor 10.0.0.1 password (sensitive)"],
    ["  key-string s", "  key-string (sensitive)"],
    ["echo PASSWORD=x", "echo PASSWORD=(sensitive)"],
    ["hostname keyhole", "hostname keyhole"],
    ["key chain lan", "key chain lan"],
    ["bypass it all", "bypass it all"],
  ])("hides in %j what is secret", (line, masked) => {
    expect(maskText(line)).toBe(masked);
  });
});

describe("an edit", () => {
  const edit = async (payload: Omit<EditPayload, "lab">, yaml = pair) => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml });
    const { revision } = await ann.call("getPublicProject", { lab: "/pair" });
    const edited = await ann.call("editProject", { lab: "/pair", revision, ...payload });
    return { made, ann, edited, before: revision };
  };

  test("replaces one section, keeps comments, and waits for the next reconcile", async () => {
    const filters = [{ name: "ospf", color: "#ff0000", match: "ip proto 89", nodes: ["r1"] }];
    const { ann, edited, before } = await edit({ section: "traffic_filters", value: filters });
    expect(edited.yaml).toContain("# two routers");
    expect(edited.yaml).toContain("# the second");
    expect(edited.revision).not.toBe(before);
    const shown = await ann.call("getPublicProject", { lab: "/pair" });
    expect(shown).toMatchObject({ traffic_filters: filters, revision: edited.revision });
    const plan = await ann.call("planProject", { lab: "/pair" });
    expect(plan.actions?.map(({ op, kind }) => `${op} ${kind}`)).toEqual(["update lab"]);
    expect(await ann.call("reconcileProject", { lab: "/pair" })).toMatchObject({ status: "applied" });
    expect((await ann.call("planProject", { lab: "/pair" })).actions).toEqual([]);
  });

  test.each<[NonNullable<EditPayload["section"]>, unknown, (lab: NonNullable<ReturnType<typeof readIntent>["lab"]>) => unknown, unknown]>([
    ["description", "about it", ({ description }) => description, "about it"],
    ["description", null, ({ description }) => description, undefined],
    ["texts", [{ text: "here", x: 1, y: 2 }], ({ texts }) => texts, [{ text: "here", x: 1, y: 2 }]],
    [
      "shapes",
      [{ type: "line", x: 1, y: 2, x2: 3, y2: 4, color: "red" }],
      ({ shapes }) => shapes,
      [{ type: "line", x: 1, y: 2, x2: 3, y2: 4, color: "#ff0000" }],
    ],
    ["links", [["r1:eth2", "r2:eth2"]], ({ links }) => links.map(({ key }) => key), ["r1:eth2 -- r2:eth2"]],
    ["links", [], ({ links }) => links, []],
    ["networks", { lan: { type: "bridge" } }, ({ networks }) => networks.map(({ key }) => key), ["lan"]],
    [
      "nodes",
      { r1: { template: "frr" }, r2: { template: "linux" } },
      ({ nodes }) => nodes.map(({ template }) => template),
      ["frr", "linux"],
    ],
  ])("of %s to %j reads back as that", async (section, value, read, expected) => {
    const { edited } = await edit({ section, value });
    expect(read(readIntent(edited.yaml).lab!)).toEqual(expected);
    expect(edited.yaml).toContain("# two routers");
  });

  test("of shapes needs no change of the host: plans name them as stored, inspect has them, and a pull keeps them", async () => {
    const shapes = [{ type: "ellipse", x: 1, y: 2, width: 30, height: 40, fill: "#00FF00" }];
    const { ann, edited } = await edit({ section: "shapes", value: shapes });
    const drawn = [{ type: "ellipse", x: 1, y: 2, width: 30, height: 40, fill: "#00ff00" }];
    expect((await ann.call("inspectProject", { lab: "/pair" })).shapes).toEqual(drawn);
    expect((await ann.call("planProject", { lab: "/pair" })).actions).toEqual([]);
    const without = await ann.call("planProject", { lab: "/pair", yaml: pair });
    expect([without.actions, without.stored]).toEqual([[], ["shapes"]]);
    const pulled = await ann.call("reconcileProject", { lab: "/pair", yaml: edited.yaml, direction: "from_host" });
    expect(pulled).toMatchObject({ yaml: edited.yaml });
  });

  test("inside the wrapper stays there, and leaves numbers as they were written", async () => {
    const yaml = "name: pair\ntopology:\n  # inside\n  nodes:\n    r1: {template: frr, env: {V: 1.0, H: 0x10}}\n    r2: {template: frr}\n";
    const { edited } = await edit({ section: "links", value: [["r1:eth0", "r2:eth0"]] }, yaml);
    expect(edited.yaml).toContain("# inside\n");
    expect(edited.yaml).toContain("{V: 1.0, H: 0x10}");
    expect(edited.yaml).toMatch(/^ {2}links:/m);
  });

  test("of another revision is stale, and changes nothing", async () => {
    const { ann, before } = await edit({ section: "description", value: "first" });
    const second = { lab: "/pair", section: "description", value: "second", revision: before } as const;
    expect((await failureOf(ann.call("editProject", second))).code).toBe("plan_stale");
    expect((await ann.call("planProject", { lab: "/pair" })).text).toContain("first");
  });

  test("of the whole text stores it as it is, and refuses masks, other revisions, and a section beside it", async () => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: secrets, files });
    const { revision } = await ann.call("getPublicProject", { lab: "/pair" });
    const yaml = `# a comment\n${secrets}`;
    const saved = await ann.call("editProject", { lab: "/pair", intent: { yaml, files }, revision });
    expect(await ann.call("getPublicProject", { lab: "/pair", as_written: true })).toMatchObject({ yaml, files, revision: saved.revision });
    expect((await ann.call("planProject", { lab: "/pair" })).actions).toEqual([]);
    const refused = async (payload: Omit<EditPayload, "lab">) => failureOf(ann.call("editProject", { lab: "/pair", ...payload }));
    expect((await refused({ intent: { yaml: secrets, files }, revision })).code).toBe("plan_stale");
    const masked = await refused({ intent: { yaml: secrets.replace("tok-1", "(sensitive)"), files } });
    expect([masked.code, masked.message]).toEqual(["bad_request", "the text contains a redacted value; enter the value itself"]);
    expect((await refused({ intent: { yaml, files }, section: "links", value: [] })).code).toBe("bad_request");
    expect((await refused({})).code).toBe("bad_request");
    expect((await refused({ intent: { yaml: "nodes: 7", files: {} } })).code).toBe("invalid_intent");
    await ann.call("setLabGrants", { lab: "/pair", grants: [{ user: "bob", right: "operate" }] });
    const bob = await made.login("bob");
    expect((await failureOf(bob.call("editProject", { lab: "/pair", intent: { yaml, files } }))).code).toBe("operation_not_allowed");
  });

  test("that makes the intent invalid is refused with the reason", async () => {
    const { ann } = await edit({ section: "description", value: "x" });
    const call = (section: NonNullable<EditPayload["section"]>, value: unknown) =>
      failureOf(ann.call("editProject", { lab: "/pair", section, value }));
    const wrong = await call("links", [["r1:eth1", "r9:eth1"]]);
    expect(wrong.code).toBe("invalid_intent");
    expect(listOf(wrong, "diagnostics")).toMatchObject([{ code: "unknown_node", path: expect.stringContaining("/links/0") }]);
    expect((await call("nodes", 5)).code).toBe("invalid_intent");
    expect((await call("traffic_filters", [{ name: "x" }])).code).toBe("invalid_intent");
    expect((await call("description", undefined)).code).toBe("bad_request");
  });

  test("keeps secrets that come back redacted, and refuses a redacted value without a secret", async () => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: secrets, files });
    const value = {
      r1: { template: "frr", "startup-config": "r1.conf", env: { API_TOKEN: "(sensitive)", PLAIN: "other" } },
      r2: { template: "frr", exec: ["passwd: (sensitive)"], "startup-config": { text: "enable password (sensitive)" } },
    };
    const edited = await ann.call("editProject", { lab: "/pair", section: "nodes", value });
    const [r1, r2] = readIntent(edited.yaml, files).lab!.nodes;
    expect(r1!.env).toEqual({ API_TOKEN: "tok-1", PLAIN: "other" });
    expect([r2!.exec, r2!.startupConfig]).toEqual([["passwd: s3cret"], "enable password 8 deep"]);
    const stranger = { ...value, r3: { template: "frr", env: { PASSWORD: "(sensitive)" } } };
    const failure = await failureOf(ann.call("editProject", { lab: "/pair", section: "nodes", value: stranger }));
    expect(failure.code).toBe("bad_request");
    expect(listOf(failure, "problems")).toMatchObject([{ path: "/value/nodes/r3/env/PASSWORD" }]);
  });

  test("of a text that is sent answers it changed and records nothing", async () => {
    const { made, ann } = await edit({ section: "description", value: "kept" });
    const before = made.store.labs.get("/pair")!.yaml;
    const edited = await ann.call("editProject", { yaml: pair, section: "description", value: "other" });
    expect(edited.yaml).toContain("description: other");
    expect(made.store.labs.get("/pair")!.yaml).toBe(before);
    expect((await ann.call("editProject", { yaml: "name: none\nnodes: {}\n", section: "description", value: "d" })).yaml).toContain("d");
  });

  test("checks a new filter on the host, if the host supports it", async () => {
    const memory = memoryHost({ users });
    const host: typeof memory = {
      ...memory,
      login: async (user, password) => ({
        ...(await memory.login(user, password)),
        checkPcapFilter: async (filter) => (filter.includes("bogus") ? "syntax error" : undefined),
      }),
    };
    const ann = await bench({ host }).login();
    await ann.call("deployProject", { yaml: pair });
    const call = (match: string) => ann.call("editProject", { lab: "/pair", section: "traffic_filters", value: [{ name: "f", match }] });
    const failure = await failureOf(call("bogus filter"));
    expect(failure.code).toBe("invalid_intent");
    expect(listOf(failure, "diagnostics")).toMatchObject([{ code: "invalid_filter", path: "/traffic_filters/0/match" }]);
    expect((await call("tcp port 179")).yaml).toContain("tcp port 179");
  });
});
