import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Failure } from "../contract/errors.ts";
import { joinIds } from "../engine/compare/join.ts";
import { readLab } from "../engine/compare/read-lab.ts";
import type { ObservedLab, ObservedNode } from "../engine/model/observed.ts";
import type { Operation, Plan, Step, StopMode } from "../engine/model/plan.ts";
import { planLab } from "../engine/plan/plan-lab.ts";
import { type Endpoint, type Lab, type LabLink, type LabNetwork, type LabNode, linkKey, type Quality } from "../intent/lab/lab.ts";
import { type ConformanceDialect, speaking } from "./conformance-dialect.ts";
import { featureNames, type Host, type HostConsole, type HostSession, type LiveNode, type NativeIds, type Progress } from "./host.ts";

/**
 * A host to test, with an account that may change labs. It needs the templates linux, pc, switch and frr, or a dialect that maps others to them, and
 * networks of type bridge.
 */
export interface ConformanceTarget {
  readonly host: Host;
  readonly user: string;
  readonly password: string;
  /** Closes the host and removes everything it left. */
  readonly close: () => Promise<void>;
}

export interface ConformanceOptions {
  /** Case → why this host does not pass it. A case that does not exist is an error, so that a skip cannot outlive its case. */
  readonly skip?: Readonly<Record<string, string>>;
  /** How long a node may take to start or stop, ms; absent: 30,000. */
  readonly patience?: number;
  /** The host's own templates, if they have other names. */
  readonly dialect?: ConformanceDialect;
  /** Whether a console begins with output from before it was opened; absent: true. */
  readonly scrollback?: boolean;
}

/** The tests that every driver must pass: call `hostConformance("memory", async () => ({…}))` in a test file of the driver. */
export function hostConformance(name: string, makeHost: () => Promise<ConformanceTarget>, options: ConformanceOptions = {}): void {
  describe(`${name} is a host`, () => {
    let target: ConformanceTarget;
    let bench: Bench;
    beforeAll(async () => {
      const made = await makeHost();
      target = options.dialect === undefined ? made : { ...made, host: speaking(made.host, options.dialect) };
      bench = await openBench(target, options);
    });
    afterEach(async () => bench.clear());
    afterAll(async () => {
      await bench?.session.close();
      await target?.close();
    });

    const skip = options.skip ?? {};
    for (const [title, check] of Object.entries(cases)) {
      const reason = Object.hasOwn(skip, title) ? skip[title] : undefined;
      if (reason === undefined) it(title, () => check(bench, target));
      else it.skip(`${title} (skipped: ${reason})`, () => {});
    }
    it("skips only cases that exist", () => {
      expect(Object.keys(skip).filter((title) => !Object.hasOwn(cases, title))).toEqual([]);
    });
  });
}

/** The tools of the cases: one session, and labs under paths of their own that are destroyed after each case. */
interface Bench {
  readonly session: HostSession;
  readonly scrollback: boolean;
  /** Returns a path without a lab. */
  readonly path: () => string;
  readonly observe: (path: string) => Promise<ObservedLab>;
  readonly plan: (path: string, desired: Lab | null, options?: { readonly prune?: boolean; readonly wipe?: boolean }) => Promise<Plan>;
  /** Plans, applies everything, and expects the next plan to be empty. Returns the plan. */
  readonly make: (path: string, desired: Lab, options?: { readonly prune?: boolean }) => Promise<Plan>;
  readonly run: (path: string, operations: readonly Operation[], progress?: Partial<Progress>) => Promise<NativeIds>;
  readonly expectNothingToDo: (path: string, desired: Lab) => Promise<void>;
  readonly node: (path: string, name: string) => Promise<ObservedNode>;
  /** Waits until the node has one of these states. */
  readonly power: (path: string, name: string, wanted: readonly LiveNode["status"][]) => Promise<LiveNode>;
  readonly clear: () => Promise<void>;
}

const node = (key: string, template: string, more: Partial<LabNode> = {}): LabNode => ({
  key,
  name: key,
  template,
  exec: [],
  env: {},
  attributes: {},
  labels: {},
  ...more,
});

const end = (text: string): Endpoint => {
  const [name = "", port] = text.split(":");
  return port === undefined ? { network: name } : { node: name, interface: port };
};

const link = (a: string, b: string, more: Partial<LabLink> = {}): LabLink => ({
  key: linkKey(end(a), end(b)),
  endpoints: [end(a), end(b)],
  ...more,
});

const byKey = <T extends { readonly key: string }>(list: readonly T[]): readonly T[] => [...list].sort((a, b) => (a.key < b.key ? -1 : 1));

const lab = (parts: Partial<Lab>): Lab => ({
  name: "conformance",
  trafficFilters: [],
  texts: [],
  ...parts,
  nodes: byKey(parts.nodes ?? []),
  networks: byKey(parts.networks ?? []),
  links: byKey(parts.links ?? []),
});

/** One resource of each kind. */
const smallLab = lab({
  description: "a small lab",
  nodes: [
    node("h1", "linux", { position: { x: 10, y: 20 } }),
    node("p1", "pc"),
    node("r1", "frr", { labels: { site: "a" } }),
    node("sw", "switch"),
  ],
  networks: [{ key: "lan", name: "lan", type: "bridge" }],
  links: [link("h1:eth0", "r1:eth0"), link("h1:eth1", "sw:eth0"), link("p1:eth0", "sw:eth1"), link("r1:eth1", "lan")],
  texts: [{ text: "a note", x: 1, y: 2 }],
  trafficFilters: [{ name: "icmp", match: "icmp" }],
});

const twoHosts = lab({ nodes: [node("h1", "linux"), node("h2", "linux")], links: [link("h1:eth0", "h2:eth0")] });

const cases: Readonly<Record<string, (bench: Bench, target: ConformanceTarget) => Promise<void>>> = {
  "login takes the right password and refuses others": async ({ session }, { host, user, password }) => {
    expect(session.user).toBe(user);
    expect(["admin", "user"]).toContain(session.role);
    await expectFailure(host.login(user, `${password}x`), "invalid_credentials");
    await expectFailure(host.login(`${user}-nobody`, password), "invalid_credentials");
    if (host.resume !== undefined) {
      expect(await host.resume(`${user}-nobody`)).toBeNull();
      const resumed = await host.resume(user);
      expect(resumed?.user).toBe(user);
      await resumed?.close();
    }
  },

  "the catalogue is complete, sorted and agrees with the rules": async ({ session }) => {
    const [templates, types, icons, rules] = await Promise.all([
      session.templates(),
      session.networkTypes(),
      session.icons(),
      session.rules(),
    ]);
    const ids = templates.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].sort());
    expect(ids).toEqual(expect.arrayContaining(["frr", "linux", "pc", "switch"]));
    expect(types.map(({ type }) => type)).toEqual(expect.arrayContaining(["bridge"]));
    expect(rules.networkTypes).toEqual(expect.arrayContaining(types.map(({ type }) => type)));
    expect(rules.templates.map(({ id }) => id).sort()).toEqual(ids);
    const iconNames = icons.map((icon) => icon.name);
    for (const template of templates) {
      expect(template.images.filter((image) => image.default).length).toBeLessThanOrEqual(1);
      if (template.icon !== undefined) expect(iconNames).toContain(template.icon);
      const rule = rules.templates.find(({ id }) => id === template.id);
      expect(rule).toMatchObject({ type: template.type, ethFormat: template.ethFormat, startupConfig: template.configSupported });
      if (rule?.image !== undefined) expect(template.images.map((image) => image.name)).toContain(rule.image);
      for (const { name, default: byDefault } of template.attributes)
        if (byDefault !== undefined) expect(rule?.attributes[name]).toBe(byDefault);
    }
  },

  "capabilities name every feature and agree with the rules": async ({ session }) => {
    const { features, reachable, stopModes } = await session.capabilities();
    expect(reachable).toBe(true);
    expect(Object.keys(features).sort()).toEqual([...featureNames].sort());
    expect(stopModes.includes(2)).toBe(features.hibernate);
    expect(stopModes.length).toBeGreaterThan(0);
    const rules = await session.rules();
    for (const word of ["linkQuality", "linkSuspend", "wipe"] as const) expect(rules.features[word] ?? false).toBe(features[word]);
  },

  "a lab that does not exist is reported as such": async ({ session, path }) => {
    const nowhere = path();
    expect(await session.observe(nowhere)).toBeNull();
    expect(await session.labs()).not.toContain(nowhere);
    await expectFailure(session.status(nowhere), "lab_not_found");
    await expectFailure(session.setLock(nowhere, true), "lab_not_found");
    await expectFailure(session.console(nowhere, "1"), "lab_not_found");
    await expectFailure(session.apply(nowhere, [operation({ do: "start", node: "h1" })], progressOf()), "lab_not_found");
    expect(await session.observe(nowhere)).toBeNull();
  },

  "a lab is made as planned, its steps are reported in order, and the next plan is empty": async ({
    session,
    path,
    plan,
    observe,
    expectNothingToDo,
    power,
  }) => {
    const at = path();
    const planned = await plan(at, smallLab);
    const reports: string[] = [];
    const applied = await session.apply(at, planned.operations, progressOf({ step: (id, state) => reports.push(`${id} ${state}`) }));
    expect(reports).toEqual(planned.operations.flatMap(({ id }) => [`${id} running`, `${id} done`]));
    expect(Object.keys(applied.ids.nodes).sort()).toEqual(["h1", "p1", "r1", "sw"]);
    const observed = await observe(at);
    expect(applied.labId).toBe(observed.id);
    const named = !(await session.rules()).unsupportedFields.includes("lab.name");
    expect(observed).toMatchObject({ path: at, ...(named && { name: smallLab.name }), locked: false, lock: 0 });
    expect(joinIds(smallLab, observed)).toEqual(applied.ids);
    expect(await session.labs()).toContain(at);
    for (const { key } of smallLab.nodes) await power(at, key, ["running"]);
    await expectNothingToDo(at, smallLab);
  },

  "running the same steps again changes nothing": async ({ session, path, plan, run, observe, expectNothingToDo }) => {
    const at = path();
    const { operations } = await plan(at, smallLab);
    await run(at, operations);
    const before = persisted(await observe(at));
    await session.apply(at, operations, progressOf());
    expect(persisted(await observe(at))).toEqual(before);
    await expectNothingToDo(at, smallLab);
  },

  "what was written comes back as it was": async ({ session, path, make, observe }) => {
    const at = path();
    await make(at, smallLab);
    const rules = await session.rules();
    const observed = await observe(at);
    expect(placedAs(smallLab, readLab({ observed, base: smallLab, rules }))).toEqual(smallLab);
    const { actions } = planLab({ desired: readLab({ observed, rules }), observed, rules, prune: true, replace: false });
    expect(actions).toEqual([]);
  },

  "every field of a running node can change, and the node runs afterwards": async (bench) => {
    const at = bench.path();
    const rules = await bench.session.rules();
    const template = rules.templates.find(({ id }) => id === "linux");
    const attribute = Object.entries(template?.attributes ?? {}).find(([, value]) => typeof value === "boolean");
    const icons = await bench.session.icons();
    const icon = icons.find(({ name }) => name !== template?.icon)?.name;
    const changes: readonly Partial<LabNode>[] = [
      { name: "renamed" },
      ...(icon === undefined ? [] : [{ icon }]),
      { position: { x: 7, y: 8 } },
      { labels: { role: "edge" } },
      { env: { GREETING: "hello" } },
      { exec: ["true"] },
      { startupConfig: "true\n" },
      { ethernet: 5 },
      { cpu: (template?.cpu ?? 1) + 1 },
      { ram: template?.ram === 128 ? 192 : 128 },
      ...(attribute === undefined ? [] : [{ attributes: { [attribute[0]]: !attribute[1] } }]),
    ];
    let wanted = twoHosts;
    await bench.make(at, wanted);
    for (const change of changes) {
      const field = Object.keys(change)[0] ?? "";
      wanted = { ...wanted, nodes: wanted.nodes.map((one) => (one.key === "h1" ? { ...one, ...change } : one)) };
      const observed = await bench.observe(at);
      const planned = planLab({
        desired: wanted,
        observed,
        ids: joinIds(wanted, observed, joinIds(twoHosts, observed)),
        rules,
        prune: true,
        replace: false,
      });
      const word = field === "startupConfig" ? "startup-config" : field;
      const isReported = planned.actions.length > 0 || planned.unsupported.some((entry) => entry.startsWith(`h1.${word}`));
      expect(isReported, `${field} is planned or reported as unsupported`).toBe(true);
      expect(planned.blocked).toEqual([]);
      await bench.run(at, planned.operations);
      await bench.expectNothingToDo(at, wanted);
      const name = wanted.nodes.find(({ key }) => key === "h1")?.name ?? "";
      await bench.power(at, name, ["running"]);
    }
  },

  "links come, change and go between running nodes": async (bench) => {
    const at = bench.path();
    const { features } = await bench.session.capabilities();
    await bench.make(at, twoHosts);
    const second = link("h1:eth1", "h2:eth1");
    const more = { ...twoHosts, links: byKey([...twoHosts.links, second]) };
    await bench.make(at, more);
    const { links: made } = await bench.observe(at);
    for (const { id, endpoints } of made) {
      const [a, b] = endpoints;
      // Absent if it would cost about as much as observe.
      expect((await bench.session.findLink?.(at, [b, a]))?.id ?? id).toBe(id);
      expect(await bench.session.findLink?.(at, [a, a])).toBeUndefined();
    }
    if (features.linkQuality) {
      const shaped = {
        ...more,
        links: more.links.map((one) => (one.key === second.key ? { ...one, quality: { a: { delay: 20 }, b: { loss: 1 } } } : one)),
      };
      await bench.make(at, shaped);
      const observed = await bench.observe(at);
      expect(observed.links.filter(({ quality }) => quality !== undefined)).toHaveLength(1);
      const { links } = await bench.session.status(at);
      expect(links).toHaveLength(1);
      expect(links[0]).toMatchObject({ a: { delay: 20 }, b: { loss: 1 } });
      await bench.make(at, more);
      expect((await bench.session.status(at)).links).toEqual([]);
    }
    if (features.linkSuspend) {
      await bench.make(at, { ...more, links: more.links.map((one) => ({ ...one, suspended: { a: true, b: false } })) });
      await bench.make(at, more);
    }
    const moved = { ...twoHosts, links: byKey([link("h1:eth0", "h2:eth1")]) };
    await bench.make(at, moved);
    await bench.make(at, { ...twoHosts, links: [] });
    expect((await bench.observe(at)).links).toEqual([]);
    for (const { key } of twoHosts.nodes) await bench.power(at, key, ["running"]);
  },

  "a link's quality changes live and declared, and both the stored and the live quality are reported": async (bench) => {
    const { linkQuality, lock } = (await bench.session.capabilities()).features;
    if (!linkQuality) return;
    const at = bench.path();
    const { session } = bench;
    const declared = { ...twoHosts, links: twoHosts.links.map((one) => ({ ...one, quality: { a: { delay: 5 } } })) };
    await bench.make(at, declared);
    const id = (await bench.observe(at)).links[0]?.id ?? "";
    const whole = (some: Quality) => ({ delay: 0, jitter: 0, loss: 0, bandwidth: 0, ...some });
    const live = await session.setLinkQuality(at, id, { b: { delay: 20, jitter: 2, loss: 0.5, bandwidth: 10000 } }, { save: false });
    expect(live).toEqual({ stored: { a: { delay: 5 } }, effective: { b: whole({ delay: 20, jitter: 2, loss: 0.5, bandwidth: 10000 }) } });
    expect((await session.status(at)).links).toEqual([{ id, ...live.effective }]);
    await bench.expectNothingToDo(at, declared);
    expect(await session.setLinkQuality(at, id, {}, { save: false })).toEqual({ stored: { a: { delay: 5 } }, effective: {} });
    expect((await session.status(at)).links).toEqual([]);

    const saved = await session.setLinkQuality(at, id, { a: { loss: 3, delay: 0 } }, { save: true });
    expect(saved).toEqual({ stored: { a: { loss: 3 } }, effective: { a: whole({ loss: 3 }) } });
    expect((await bench.observe(at)).links[0]?.quality).toEqual({ a: { loss: 3 } });
    await bench.run(at, [operation({ do: "stop", node: "h2", mode: 1 })]);
    expect((await session.status(at)).links).toEqual([]);
    await bench.run(at, [operation({ do: "start", node: "h2" })]);
    await bench.power(at, "h2", ["running"]);
    expect((await session.status(at)).links).toEqual([{ id, a: whole({ loss: 3 }) }]);
    expect(await session.setLinkQuality(at, id, {}, { save: true })).toEqual({ stored: {}, effective: {} });
    expect((await bench.observe(at)).links[0]?.quality).toBeUndefined();

    await expectFailure(session.setLinkQuality(at, "no-such-id", {}, { save: true }), "link_not_found");
    await expectFailure(session.setLinkQuality(bench.path(), id, {}, { save: true }), "lab_not_found");
    if (!lock) return;
    await session.setLock(at, true);
    await expectFailure(session.setLinkQuality(at, id, { a: { delay: 1 } }, { save: true }), "lab_locked");
    await session.setLock(at, false);
  },

  "a link is suspended at one side or both, and resumed": async (bench) => {
    if (!(await bench.session.capabilities()).features.linkSuspend) return;
    const at = bench.path();
    const { session } = bench;
    await bench.make(at, twoHosts);
    const id = (await bench.observe(at)).links[0]?.id ?? "";
    expect(await session.setLinkSuspend(at, id, { b: true })).toEqual({ a: false, b: true });
    expect((await bench.observe(at)).links[0]?.suspended).toEqual({ a: false, b: true });
    expect(await session.setLinkSuspend(at, id, { a: true })).toEqual({ a: true, b: true });
    expect(await session.setLinkSuspend(at, id, { a: false, b: false })).toEqual({ a: false, b: false });
    await bench.expectNothingToDo(at, twoHosts);
    await expectFailure(session.setLinkSuspend(at, "no-such-id", { a: true }), "link_not_found");
  },

  "nodes and networks come and go while others run": async (bench) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    const before = await bench.node(at, "h1");
    const bigger = lab({
      nodes: [...twoHosts.nodes, node("h3", "pc")],
      networks: [{ key: "lan", name: "office", type: "bridge" }],
      links: [...twoHosts.links, link("h3:eth0", "lan"), link("h1:eth1", "lan")],
    });
    await bench.make(at, bigger);
    await bench.power(at, "h3", ["running"]);
    expect((await bench.node(at, "h1")).id).toBe(before.id);

    const planned = await bench.make(at, twoHosts, { prune: false });
    expect(planned.summary.skipped_prune).toBe(4);
    await bench.power(at, "h3", ["running"]);
    await bench.make(at, twoHosts);
    expect((await bench.observe(at)).nodes.map(({ name }) => name).sort()).toEqual(["h1", "h2"]);
    expect((await bench.observe(at)).networks).toEqual([]);
    await bench.power(at, "h1", ["running"]);
  },

  "texts, filters, description and name of the lab change": async (bench) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    const wanted: Lab = {
      ...twoHosts,
      name: "renamed",
      description: "now with words",
      texts: [{ text: "two\nlines", x: -5, y: 0.5 }],
      trafficFilters: [{ name: "arp", match: "arp", color: "red", nodes: ["h1"] }],
    };
    await bench.make(at, wanted);
    await bench.make(at, twoHosts);
  },

  "captures run if the host has them, are reported correctly and end": async ({ session, path, make, node: nodeOf, power }) => {
    const { features } = await session.capabilities();
    if (!features.capture) return;
    const captures = session.captures;
    if (captures === undefined) throw new Error("the capabilities have captures, the session has not");
    const at = path();
    await expectFailure(captures.list(at), "lab_not_found");
    await make(at, twoHosts);
    await power(at, "h1", ["running"]);
    expect(await captures.list(at)).toEqual([]);
    const nodeId = (await nodeOf(at, "h1")).id;
    const request = { nodeId, interface: "eth0", label: "h1:eth0" };
    await expectFailure(captures.start(at, { ...request, nodeId: "999" }), "node_not_found");
    await expectFailure(captures.start(at, { ...request, interface: "eth99" }), "bad_request");
    await expectFailure(captures.start(at, { ...request, filter: "no such filter" }), "bad_request");
    const started = await captures.start(at, { ...request, filter: "icmp" });
    expect(started).toMatchObject({ ...request, filter: "icmp", status: "running", truncated: false });
    expect((await captures.list(at)).map(({ id }) => id)).toEqual([started.id]);
    const stopped = await captures.stop(at, started.id);
    expect(stopped).toMatchObject({ id: started.id, status: "stopped", stoppedAt: expect.any(Number), expiresAt: expect.any(Number) });
    expect(await captures.stop(at, started.id)).toEqual(stopped);
    const parts: Uint8Array[] = [];
    for await (const part of captures.read(at, started.id, { follow: true })) parts.push(part);
    // A section header, little endian: valid pcapng although no packet was captured.
    expect([...(parts[0] ?? [])].slice(0, 4)).toEqual([0x0a, 0x0d, 0x0d, 0x0a]);
    await captures.remove(at, started.id);
    await expectFailure(captures.get(at, started.id), "capture_not_found");
    expect(await captures.list(at)).toEqual([]);
  },

  "nodes stop in every mode, start again and are wiped": async (bench) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    const { features, stopModes } = await bench.session.capabilities();
    for (const mode of stopModes) {
      await bench.power(at, "h1", ["running"]);
      await bench.run(at, [operation({ do: "stop", node: "h1", mode })]);
      await bench.power(at, "h1", [mode === 2 ? "suspended" : "stopped"]);
      // A second call is no error, and the neighbour is unchanged.
      await bench.run(at, [operation({ do: "stop", node: "h1", mode })]);
      await bench.power(at, "h2", ["running"]);
      await bench.run(at, [operation({ do: "start", node: "h1" })]);
      await bench.power(at, "h1", ["running"]);
    }
    await bench.run(at, [operation({ do: "start", node: "h1" })]);
    if (features.wipe) {
      await bench.run(at, [operation({ do: "stop", node: "h1", mode: 1 }), operation({ do: "wipe", node: "h1" })]);
      await bench.power(at, "h1", ["stopped"]);
    }
    for (const mode of ([0, 1, 2, 3] satisfies StopMode[]).filter((one) => !stopModes.includes(one))) {
      await expectFailure(bench.run(at, [operation({ do: "stop", node: "h2", mode })]), "unsupported");
    }
  },

  "declared power is kept to": async (bench) => {
    const at = bench.path();
    const off = lab({ nodes: [node("h1", "linux", { start: false }), node("h2", "linux")], links: [link("h1:eth0", "h2:eth0")] });
    await bench.make(at, off);
    await bench.power(at, "h1", ["stopped"]);
    await bench.power(at, "h2", ["running"]);
    await bench.make(at, { ...off, nodes: off.nodes.map((one) => ({ ...one, start: one.key === "h1" })) });
    await bench.power(at, "h1", ["running"]);
    await bench.power(at, "h2", ["stopped"]);
  },

  "status is correct for every node": async (bench) => {
    const at = bench.path();
    await bench.make(at, smallLab);
    for (const { key } of smallLab.nodes) await bench.power(at, key, ["running"]);
    const observed = await bench.observe(at);
    const { nodes, links } = await bench.session.status(at);
    expect(nodes.map(({ id, name }) => `${id} ${name}`).sort()).toEqual(observed.nodes.map(({ id, name }) => `${id} ${name}`).sort());
    expect(links).toEqual([]);
    for (const { uptime_ms } of nodes) if (uptime_ms !== undefined) expect(uptime_ms).toBeGreaterThanOrEqual(0);
    await bench.run(at, [operation({ do: "stop", node: "h1", mode: 1 })]);
    const stopped = await bench.power(at, "h1", ["stopped"]);
    expect(stopped.uptime_ms).toBeUndefined();
    expect((await bench.node(at, "h1")).power).toBe("stopped");
    expect((await bench.node(at, "r1")).power).toBe("running");
  },

  "a console answers, and a late viewer sees what was before": async (bench) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    await bench.power(at, "h1", ["running"]);
    const { id } = await bench.node(at, "h1");
    const first = watch(await bench.session.console(at, id));
    first.send("echo conformance-17\r");
    await first.shows(/^conformance-17\r?$/m);
    const late = watch(await bench.session.console(at, id));
    if (bench.scrollback) await late.shows(/^conformance-17\r?$/m);
    late.send("echo conformance-18\r");
    await Promise.all([first.shows(/^conformance-18\r?$/m), late.shows(/^conformance-18\r?$/m)]);
    late.close();
    first.send("echo conformance-19\r");
    await first.shows(/^conformance-19\r?$/m);
    await bench.run(at, [operation({ do: "stop", node: "h1", mode: 1 })]);
    await first.ends();
  },

  "a console that cannot be is refused with the reason": async (bench) => {
    const at = bench.path();
    await bench.make(at, lab({ nodes: [node("h1", "linux", { start: false }), node("sw", "switch")] }));
    const [stopped, mute] = [await bench.node(at, "h1"), await bench.node(at, "sw")];
    await expectFailure(bench.session.console(at, stopped.id), "node_not_running");
    await expectFailure(bench.session.console(at, "no-such-id"), "node_not_found");
    expect(mute.consoleType).toBe("none");
    await expectFailure(bench.session.console(at, mute.id), "unsupported");
  },

  "a locked lab is not changed": async (bench) => {
    if (!(await bench.session.capabilities()).features.lock) return;
    const at = bench.path();
    await bench.make(at, twoHosts);
    await bench.session.setLock(at, true);
    const before = await bench.observe(at);
    expect(before.locked).toBe(true);
    expect(before.lock).not.toBe(0);
    expect((await bench.plan(at, { ...twoHosts, description: "x" })).applicable).toBe(false);
    await expectFailure(bench.run(at, [operation({ do: "stop", node: "h1", mode: 1 })]), "lab_locked");
    expect(persisted(await bench.observe(at))).toEqual(persisted(before));
    await bench.power(at, "h1", ["running"]);
    await bench.session.setLock(at, false);
    expect((await bench.observe(at)).locked).toBe(false);
    await bench.run(at, [operation({ do: "stop", node: "h1", mode: 1 })]);
  },

  "a lock that appears stops a change between steps": async (bench) => {
    if (!(await bench.session.capabilities()).features.lock) return;
    const at = bench.path();
    await bench.make(at, twoHosts);
    const steps = restarts(12);
    const done: string[] = [];
    let locking: Promise<void> | undefined;
    const failure = await expectFailure(
      bench.run(at, steps, {
        step: (id, state) => {
          if (state === "done") done.push(id);
          locking ??= bench.session.setLock(at, true);
        },
      }),
      "lab_locked_mid_apply",
    );
    await locking;
    expect(done).toEqual(steps.slice(0, done.length).map(({ id }) => id));
    expect(done.length).toBeGreaterThan(0);
    expect(done.length).toBeLessThan(steps.length);
    expect(failure.data?.applied).toEqual(done);
  },

  "a change stops between steps when it is aborted": async (bench) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    const steps = restarts(6);
    const controller = new AbortController();
    const reports: string[] = [];
    const aborted = bench.run(at, steps, {
      signal: controller.signal,
      step: (id, state) => {
        reports.push(`${id} ${state}`);
        if (state === "done") controller.abort();
      },
    });
    await expect(aborted).rejects.toThrow();
    expect(reports.slice(0, 2)).toEqual([`${steps[0]?.id} running`, `${steps[0]?.id} done`]);
    expect(reports.length).toBeLessThan(2 * steps.length);
    await bench.make(at, { ...twoHosts, nodes: twoHosts.nodes.map((one) => ({ ...one, start: true })) });
  },

  "a step that the host refuses is a host error, and what was done before stays": async (bench) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    const wrong = [
      operation({ do: "update-lab", description: "still here" }),
      operation({ do: "stop", node: "h2", mode: 1 }),
      operation({ do: "create-node", node: node("x1", "no-such-template") }),
      operation({ do: "stop", node: "h1", mode: 1 }),
    ];
    const done: string[] = [];
    const failure = await expectFailure(
      bench.run(at, wrong, { step: (id, state) => (state === "done" ? done.push(id) : undefined) }),
      "host_error",
    );
    expect(failure.data?.host).toMatchObject({ message: expect.any(String) });
    expect(done).toEqual(wrong.slice(0, 2).map(({ id }) => id));
    const observed = await bench.observe(at);
    expect(observed.description).toBe("still here");
    expect(observed.nodes.map(({ name }) => name).sort()).toEqual(["h1", "h2"]);
    await bench.power(at, "h1", ["running"]);
    await expectFailure(bench.run(at, [operation({ do: "start", node: "nobody" })]), ["host_error", "node_not_found"]);
  },

  "two labs with the same content do not meet": async (bench) => {
    const [one, two] = [bench.path(), bench.path()];
    await Promise.all([bench.make(one, smallLab), bench.make(two, smallLab)]);
    expect((await bench.observe(one)).id).not.toBe((await bench.observe(two)).id);
    await bench.run(one, [operation({ do: "stop", node: "h1", mode: 1 })]);
    await bench.power(one, "h1", ["stopped"]);
    await bench.power(two, "h1", ["running"]);
    await bench.run(one, (await bench.plan(one, null)).operations);
    expect(await bench.session.observe(one)).toBeNull();
    await bench.expectNothingToDo(two, smallLab);
    await bench.power(two, "h1", ["running"]);
  },

  "two sessions see the same lab": async (bench, { host, user, password }) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    const other = await host.login(user, password);
    expect(persisted((await other.observe(at)) as ObservedLab)).toEqual(persisted(await bench.observe(at)));
    await other.close();
    await bench.power(at, "h1", ["running"]);
  },

  "destroy leaves nothing, and the lab can be made again": async (bench) => {
    const at = bench.path();
    for (const wipe of [true, false]) {
      await bench.make(at, smallLab);
      await bench.run(at, (await bench.plan(at, null, { wipe })).operations);
      expect(await bench.session.observe(at)).toBeNull();
      expect(await bench.session.labs()).not.toContain(at);
      await expectFailure(bench.session.status(at), "lab_not_found");
    }
    await bench.make(at, smallLab);
  },

  "a lab is replaced as a whole": async (bench) => {
    const at = bench.path();
    await bench.make(at, smallLab);
    const rules = await bench.session.rules();
    const observed = await bench.observe(at);
    const { operations } = planLab({ desired: twoHosts, observed, rules, prune: true, replace: true });
    await bench.run(at, operations);
    await bench.expectNothingToDo(at, twoHosts);
    for (const { key } of twoHosts.nodes) await bench.power(at, key, ["running"]);
  },
};

async function openBench({ host, user, password }: ConformanceTarget, options: ConformanceOptions): Promise<Bench> {
  const { patience = 30_000, scrollback = true } = options;
  const session = await host.login(user, password);
  const paths: string[] = [];
  /** Ids as the service keeps them: shown names may change. */
  const known = new Map<string, NativeIds>();

  const observe: Bench["observe"] = async (path) => {
    const observed = await session.observe(path);
    if (observed === null) throw new Error(`there is no lab ${path}`);
    return observed;
  };
  const plan: Bench["plan"] = async (path, desired, { prune = true, wipe = true } = {}) => {
    const ids = known.get(path);
    return planLab({
      desired,
      observed: await session.observe(path),
      rules: await session.rules(),
      prune,
      replace: false,
      wipe,
      ...(ids && { ids }),
    });
  };
  const run: Bench["run"] = async (path, operations, progress = {}) => {
    const ids = joinIds(null, await session.observe(path), known.get(path));
    const applied = await session.apply(path, operations, { ...progressOf(progress), ids });
    known.set(path, applied.ids);
    return applied.ids;
  };
  const expectNothingToDo: Bench["expectNothingToDo"] = async (path, desired) => {
    const { actions, blocked } = await plan(path, desired);
    expect({ actions, blocked }).toEqual({ actions: [], blocked: [] });
  };
  return {
    session,
    scrollback,
    observe,
    plan,
    run,
    expectNothingToDo,
    path: () => {
      const path = `/conformance/lab-${paths.length + 1}`;
      paths.push(path);
      return path;
    },
    make: async (path, desired, { prune = true } = {}) => {
      const planned = await plan(path, desired, { prune });
      expect(planned.blocked).toEqual([]);
      await run(path, planned.operations);
      const next = await plan(path, desired, { prune });
      expect({ actions: next.actions, blocked: next.blocked }).toEqual({ actions: [], blocked: [] });
      return planned;
    },
    node: async (path, name) => {
      const found = (await observe(path)).nodes.find((one) => one.name === name);
      if (found === undefined) throw new Error(`there is no node ${name} in ${path}`);
      return found;
    },
    power: async (path, name, wanted) => {
      let seen: LiveNode | undefined;
      const found = await within(patience, async () => {
        seen = (await session.status(path)).nodes.find((one) => one.name === name);
        return seen !== undefined && wanted.includes(seen.status) ? seen : undefined;
      });
      if (found === undefined) throw new Error(`node ${name} is ${seen?.status ?? "not there"}, not ${wanted.join(" or ")}`);
      return found;
    },
    clear: async () => {
      for (const path of paths) {
        const observed = await session.observe(path);
        if (observed === null) continue;
        if (observed.locked) await session.setLock(path, false);
        await run(path, (await plan(path, null)).operations);
      }
      known.clear();
    },
  };
}

/** Removes the positions that the host gives to resources without one. */
function placedAs(wanted: Lab, captured: Lab): Lab {
  const placed = <T extends { readonly key: string }>(list: readonly T[], one: { readonly key: string; readonly position?: unknown }) =>
    list.some((other) => other.key === one.key && "position" in other);
  const strip = <T extends LabNode | LabNetwork>(list: readonly T[], one: T): T => {
    const { position: _position, ...rest } = one;
    return placed(list, one) ? one : (rest as T);
  };
  return {
    ...captured,
    nodes: captured.nodes.map((one) => strip(wanted.nodes, one)),
    networks: captured.networks.map((one) => strip(wanted.networks, one)),
  };
}

let count = 0;

/** Returns a step as the power operations make it, outside any plan. */
function operation(step: Step): Operation {
  const id = `step-${++count}`;
  const key = "node" in step ? (typeof step.node === "string" ? step.node : step.node.key) : "lab";
  const reason = { code: "requested", text: "asked for" } as const;
  return { id, of: id, op: "update", kind: "node", key, reason, disruption: "none", affects: [], changes: [], prune: false, step };
}

/** Stops and starts in turn, so that no driver can batch them. */
function restarts(times: number): readonly Operation[] {
  return Array.from({ length: times }, (_, i) =>
    operation(i % 2 === 0 ? { do: "stop", node: "h1", mode: 1 } : { do: "start", node: "h1" }),
  );
}

function progressOf(progress: Partial<Progress> = {}): Progress {
  return { ids: { nodes: {}, networks: {}, links: {} }, step: () => {}, ...progress };
}

/** Returns the parts of a lab that must not change by themselves: everything except power. */
function persisted(observed: ObservedLab): unknown {
  return { ...observed, nodes: observed.nodes.map(({ power: _power, ...rest }) => rest) };
}

async function expectFailure(work: Promise<unknown>, code: Failure["code"] | readonly Failure["code"][]): Promise<Failure> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Failure)) throw error ?? new Error(`expected ${String(code)}, and it went well`);
  expect(typeof code === "string" ? [code] : code).toContain(error.code);
  return error;
}

interface Watched {
  readonly send: (text: string) => void;
  readonly shows: (pattern: RegExp) => Promise<void>;
  readonly ends: () => Promise<void>;
  readonly close: () => void;
}

function watch({ stream }: HostConsole): Watched {
  let text = "";
  let ended = false;
  stream.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
  });
  for (const event of ["end", "close", "error"]) {
    stream.on(event, () => {
      ended = true;
    });
  }
  const until = async (what: string, met: () => boolean) => {
    const seen = await within(20_000, async () => (met() ? true : undefined));
    if (seen === undefined) throw new Error(`the console does not ${what}; it showed ${JSON.stringify(text.slice(-2000))}`);
  };
  return {
    send: (typed) => stream.write(typed),
    shows: (pattern) => until(`show ${pattern}`, () => pattern.test(text)),
    ends: () => until("end", () => ended),
    close: () => stream.destroy(),
  };
}

/** Polls until there is a result, at most for this time, ms. */
async function within<T>(time: number, ask: () => Promise<T | undefined>): Promise<T | undefined> {
  const until = performance.now() + time;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined || performance.now() > until) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
