import { duplexPair } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import { type Bench, type Client, createBench, failureOf, listOf, pair, three, until } from "./service.fixture.ts";

const benches: Bench[] = [];
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

async function shared(right?: "view" | "operate" | "edit") {
  const bench = createBench();
  benches.push(bench);
  const [ann, bob] = [await bench.login(), await bench.login("bob")];
  await ann.call("deployProject", { yaml: pair });
  if (right !== undefined) await ann.call("setLabGrants", { lab: "/pair", grants: [{ user: "bob", right }] });
  return { bench, ann, bob };
}

const lab = "/pair";
const wanted = three;
/** One call for each right that it needs. */
const calls: Readonly<Record<string, readonly (readonly [string, (client: Client) => Promise<unknown>])[]>> = {
  view: [
    ["status", (client) => client.call("getProjectStatus", { lab })],
    ["inspect", (client) => client.call("inspectProject", { lab })],
    ["plan", (client) => client.call("planProject", { lab, yaml: wanted })],
    ["consoles", (client) => client.call("listProjectConsoles", { lab })],
    ["pull", (client) => client.call("reconcileProject", { lab, direction: "from_host" })],
    ["public", (client) => client.call("getPublicProject", { lab })],
    ["grants", (client) => client.get("getLabGrants", {}, { lab })],
  ],
  operate: [
    ["stop", (client) => client.call("execProject", { lab, action: "stop", node: "r1" })],
    ["start", (client) => client.call("execProject", { lab, action: "start" })],
    ["console", (client) => client.call("execConsole", { lab, node: "r1", command: "hello" })],
    ["attach", (client) => client.call("attachConsole", { lab, node: "r1" })],
    ["console log", (client) => client.call("readConsoleLog", { lab, node: "r1" })],
  ],
  edit: [
    ["reconcile", (client) => client.call("reconcileProject", { lab, yaml: wanted })],
    ["edit", (client) => client.call("editProject", { lab, section: "description", value: "bob was here" })],
    ["replace", (client) => client.call("deployProject", { lab, yaml: pair, replace: true })],
  ],
  own: [
    ["share", (client) => client.call("setLabGrants", { lab, grants: [] })],
    ["destroy", (client) => client.call("destroyProject", { lab })],
  ],
};
const rights = ["view", "operate", "edit", "own"] as const;

test("a user with the right view gets no secret, neither in the public text nor by a pull; a user with the right edit does", async () => {
  for (const [right, secrets] of [
    ["view", false],
    ["operate", false],
    ["edit", true],
  ] as const) {
    const { ann, bob } = await shared(right);
    await ann.call("deployProject", { yaml: "name: pair\nnodes:\n  r1: {template: frr, env: {API_TOKEN: hush}}\n", replace: true });
    const pulled = await bob.call("reconcileProject", { lab, direction: "from_host" });
    expect([right, JSON.stringify(pulled).includes("hush")]).toEqual([right, secrets]);
    expect(JSON.stringify(await bob.call("getPublicProject", { lab }))).not.toContain("hush");
    expect(JSON.stringify(await ann.call("reconcileProject", { lab, direction: "from_host" }))).toContain("hush");
  }
});

test("a plan discloses no secret of configurations and commands to a user with the right view, in either direction", async () => {
  const hosts = `name: pair
nodes:
  r1: {template: frr, startup-config: "hostname r1\\nenable password hush\\n"}
  r2: {template: frr, exec: ["login ann password hush"]}
`;
  const other = "name: pair\nnodes:\n  r1: {template: frr, startup-config: {text: mine}}\n  r2: {template: frr, exec: [mine]}\n";
  for (const [right, secrets] of [
    ["view", false],
    ["operate", false],
    ["edit", true],
  ] as const) {
    const { bench, ann, bob } = await shared(right);
    await ann.call("deployProject", { yaml: hosts, replace: true });
    for (const direction of ["to_host", "from_host"]) {
      for (const yaml of [other, "name: pair\nnodes: {}\n"]) {
        const plan = await bob.call("planProject", { lab, yaml, direction, prune: true });
        expect(plan.actions?.length).toBeGreaterThan(0);
        const hasSecret = JSON.stringify(plan).includes("hush");
        if (!secrets || yaml === other) expect([right, direction, hasSecret]).toEqual([right, direction, secrets]);
        expect(JSON.stringify(await (await bench.login("eve")).call("planProject", { lab, yaml, direction }))).not.toContain("hush");
      }
    }
    const { actions } = await bob.call("planProject", { lab, yaml: other });
    const config = actions?.find(({ kind }) => kind === "config")?.changes[0];
    const before = `hostname r1\nenable password ${secrets ? "hush" : "(sensitive)"}\n`;
    expect(config).toMatchObject({ field: "startup-config", before, after: "mine", ...(!secrets && { sensitive: true }) });
  }
});

test("a pull by a user with the right view keeps the sent text with its secrets, and discloses no other secrets", async () => {
  const { ann, bob } = await shared("view");
  const yaml = "# bob's copy\nname: pair\nnodes:\n  r1: {template: frr, env: {API_TOKEN: guess}}   # the core\n";
  const hosts = "name: pair\nnodes:\n  r1: {template: frr, env: {API_TOKEN: hush}}\n  r2: {template: frr, env: {PIN_CODE_TOKEN: hush}}\n";
  await ann.call("deployProject", { yaml: hosts, replace: true });
  const pulled = (await bob.call("reconcileProject", { lab, yaml, direction: "from_host" })) as { readonly yaml: string };
  expect(pulled.yaml).toContain(yaml.trimEnd());
  expect(pulled.yaml).toMatch(/r2:[\s\S]*PIN_CODE_TOKEN: "?\(sensitive\)/);
  expect(JSON.stringify(pulled)).not.toContain("hush");
});

test("the refusal to print a lab discloses nothing of its configurations to a user with the right view", async () => {
  const config = "enable secret hush\0\nsnmp-server community hush RO\n";
  for (const [right, secrets] of [
    ["view", false],
    ["edit", true],
  ] as const) {
    const { bench, ann, bob } = await shared(right);
    await ann.call("execProject", { lab, action: "stop" });
    const host = await bench.host.login("ann", "ann");
    const { name = "", template = "", image = "" } = (await host.observe(lab))?.nodes.find((one) => one.name === "r1") ?? {};
    const r1 = { key: "r1", name, template, image, exec: [], env: {}, attributes: {}, labels: {}, startupConfig: config };
    const step = { do: "update-node", node: r1, fields: ["startupConfig"] } as const;
    const reason = { code: "requested", text: "asked for" } as const;
    const about = { id: "1", of: "1", op: "update", kind: "node", key: "r1", reason, disruption: "none" } as const;
    const ids = bench.store.labs.get(lab)?.ids ?? { nodes: {}, networks: {}, links: {} };
    await host.apply(lab, [{ ...about, affects: [], changes: [], prune: false, step }], { ids, step: () => {} });
    for (const body of [{}, { peek: true }, { yaml: pair }, { yaml: pair, peek: true }]) {
      const failure = await failureOf(bob.call("reconcileProject", { lab, direction: "from_host", ...body }));
      expect(failure.code).toBe("invalid_intent");
      expect(JSON.stringify([failure.message, failure.data]).includes("hush")).toBe(secrets);
    }
  }
});

describe.each(["view", "operate", "edit"] as const)("a lab that is shared to %s", (right) => {
  test("allows that, and nothing above it", async () => {
    const { bob } = await shared(right);
    for (const needed of rights) {
      for (const [name, call] of calls[needed]!) {
        if (rights.indexOf(needed) <= rights.indexOf(right)) await expect(call(bob), name).resolves.toBeDefined();
        else expect((await failureOf(call(bob))).code, name).toBe("operation_not_allowed");
      }
    }
  });
});

test("without a grant, and after its removal, every operation returns lab_not_found", async () => {
  const { ann, bob } = await shared();
  const all = rights.flatMap((right) => calls[right]!);
  for (const [name, call] of all) expect((await failureOf(call(bob))).code, name).toBe("lab_not_found");
  await ann.call("setLabGrants", { lab, grants: [{ user: "bob", right: "edit" }] });
  await bob.call("inspectProject", { lab });
  await ann.call("setLabGrants", { lab, grants: [] });
  for (const [name, call] of all) expect((await failureOf(call(bob))).code, name).toBe("lab_not_found");
  expect((await bob.get("listLabs")).labs).toEqual([]);
});

test("labs are listed with owner and the caller's right", async () => {
  const { bench, ann, bob } = await shared("operate");
  const admin = await bench.login("admin");
  const viewer = await bench.login("eve");
  const entry = async (client: Client) => (await client.get("listLabs")).labs.map(({ owner, right, exists }) => [owner, right, exists]);
  expect(await entry(ann)).toEqual([["ann", "own", true]]);
  expect(await entry(bob)).toEqual([["ann", "operate", true]]);
  expect(await entry(admin)).toEqual([["ann", "own", true]]);
  expect(await entry(viewer)).toEqual([["ann", "view", true]]);
});

test("no grant makes a viewer change anything", async () => {
  const { bench, ann } = await shared();
  const viewer = await bench.login("eve");
  await ann.call("setLabGrants", { lab, grants: [{ user: "eve", right: "edit" }] });
  expect((await viewer.call("inspectProject", { lab })).nodes).toHaveLength(2);
  for (const right of ["operate", "edit", "own"]) {
    for (const [name, call] of calls[right]!) expect((await failureOf(call(viewer))).code, name).toBe("operation_not_allowed");
  }
});

test("a plan of a user with the right view does not make the owner's plan stale", async () => {
  const { ann, bob } = await shared("operate");
  const yaml = pair.replace("r1: {template: frr}", "r1: {template: frr, env: {A: b}}");
  const plan = await ann.call("planProject", { lab, yaml });
  await bob.call("planProject", { lab, yaml: three });
  const done = await ann.call("reconcileProject", { lab, yaml, confirm: true, plan_identity: plan.plan_identity! });
  expect(done).toMatchObject({ status: "applied" });
});

test("a lab changed by another editor keeps its owner, who sees the job", async () => {
  const { bench, ann, bob } = await shared("edit");
  const { job } = (await bob.call("reconcileProject", { lab, yaml: three }, { respondAsync: true })) as { job: string };
  await expect.poll(async () => (await ann.get("getJob", { id: job })).status).toBe("done");
  expect((await ann.get("getJob", { id: job })).user).toBe("bob");
  expect(bench.store.labs.get(lab)?.owner).toBe("ann");
  expect((await ann.call("planProject", { lab })).actions).toEqual([]);
});

test("wrong grants are refused with their place", async () => {
  const { ann } = await shared();
  const place = async (grants: { user: string; right: "view" }[]) => {
    const failure = await failureOf(ann.call("setLabGrants", { lab, grants }));
    return [failure.code, (listOf(failure, "problems")[0] as { path: string }).path];
  };
  const right = "view";
  expect(await place([{ user: "", right }])).toEqual(["bad_request", "/grants/0/user"]);
  expect(await place([{ user: "ann", right }])).toEqual(["bad_request", "/grants/0/user"]);
  expect(
    await place([
      { user: "bob", right },
      { user: "bob", right },
    ]),
  ).toEqual(["bad_request", "/grants/1/user"]);
  expect((await failureOf(ann.call("setLabGrants", { lab: "/none", grants: [] }))).code).toBe("lab_not_found");
  expect(
    await ann.call("setLabGrants", {
      lab,
      grants: [
        { user: "zoe", right },
        { user: "__proto__", right },
      ],
    }),
  ).toEqual({
    lab,
    owner: "ann",
    grants: [
      { user: "__proto__", right },
      { user: "zoe", right },
    ],
  });
});

test("a user with the right operate reads and types at consoles, until the grant is removed", async () => {
  const { ann, bob } = await shared("operate");
  const { stream } = await bob.call("attachConsole", { lab, node: "r1" });
  const upgrade = await bob.get("streamConsole", { ticket: stream! });
  const [near, far] = duplexPair();
  upgrade.attach(far);
  let heard = "";
  let closed = false;
  near.on("data", (bytes) => {
    heard += bytes;
  });
  near.on("end", () => near.destroy());
  far.on("close", () => {
    closed = true;
  });
  near.write("hello there\r");
  await until(() => heard.includes("hello there"));
  const second = (await bob.call("attachConsole", { lab, node: "r1" })).stream!;
  await ann.call("setLabGrants", { lab, grants: [{ user: "bob", right: "view" }] });
  await until(() => closed);
  expect((await failureOf(bob.get("streamConsole", { ticket: second }))).code).toBe("operation_not_allowed");
});
