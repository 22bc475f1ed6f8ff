import { afterEach, describe, expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import { memoryHost } from "../../hosts/memory/memory-host.ts";
import { type Bench, type Client, createBench, failureOf, pair, three, until, users } from "../service.fixture.ts";

const benches: Bench[] = [];
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

/** r1 must stop, so that its env can change. */
const changed = pair.replace("r1: {template: frr}", "r1: {template: frr, env: {A: b}}");
const lab = "/pair";

const confirmed = async (client: Client, yaml: string, more: object = {}) => {
  const { plan_identity } = await client.call("planProject", { yaml });
  return client.call("reconcileProject", { yaml, confirm: true, ...(plan_identity !== undefined && { plan_identity }), ...more });
};

const powers = async (client: Client) => {
  const { nodes } = await client.call("inspectProject", { lab, refresh: true });
  return Object.fromEntries(nodes.map(({ node, name, status }) => [node ?? name, status]));
};

/** Ways in which a change breaks off once the given step is about to run. */
const breaks: Readonly<
  Record<string, { readonly code: string; readonly run: (made: Bench, ann: Client, at: string, yaml: string) => Promise<unknown> }>
> = {
  "a lock": {
    code: "lab_locked_mid_apply",
    run: async (made, ann, at, yaml) => {
      const admin = (await made.host.resume!("admin"))!;
      made.step = async (path, { id }) => {
        if (id === at) await admin.setLock(path, true);
      };
      const failure = await failureOf(confirmed(ann, yaml));
      await admin.setLock(lab, false);
      return failure.code;
    },
  },
  "a cancel": {
    code: "cancelled",
    run: async (made, ann, at, yaml) => {
      let id = "";
      made.step = async (_path, operation) => {
        if (operation.id !== at) return;
        await until(() => id !== "");
        await ann.get("cancelJob", { id });
      };
      const { plan_identity } = await ann.call("planProject", { yaml });
      const body = { yaml, confirm: true, ...(plan_identity !== undefined && { plan_identity }) };
      const answer = await ann.call("reconcileProject", body, { respondAsync: true });
      id = (answer as { readonly job: string }).job;
      await until(async () => (await made.store.jobs.get(id))?.status !== "running");
      return (await made.store.jobs.get(id))?.error?.code;
    },
  },
  "a failure of the host": {
    code: "host_error",
    run: async (made, ann, at, yaml) => {
      made.step = (_path, { id }) => {
        if (id === at) throw new Failure("host_error", "no room", { data: { host: { message: "no room" } } });
      };
      return (await failureOf(confirmed(ann, yaml))).code;
    },
  },
};

describe.each(Object.entries(breaks))("after %s", (_name, { code, run }) => {
  // A lock or a cancel during the last step comes too late to leave anything undone.
  const steps = ["stop:node:r1", "update:node:r1", ...(code === "host_error" ? ["start:node:r1"] : [])];
  test.each(steps)("at the step %s the next plan starts the node again", async (at) => {
    const made = createBench();
    benches.push(made);
    const ann = await made.login();
    await ann.call("deployProject", { yaml: pair });
    expect(await run(made, ann, at, changed)).toBe(code);
    made.step = () => {};
    const plan = await ann.call("planProject", { yaml: changed });
    const starts = plan.operations!.filter(({ op }) => op === "start").map(({ key }) => key);
    expect(starts).toEqual(["r1"]);
    await confirmed(ann, changed);
    expect(await powers(ann)).toEqual({ r1: "running", r2: "running" });
    expect((await ann.call("planProject", { yaml: changed })).operations).toEqual([]);
  });

  test("the node is started even when the text is as before again, and without a confirmation", async () => {
    const made = createBench();
    benches.push(made);
    const ann = await made.login();
    await ann.call("deployProject", { yaml: pair });
    expect(await run(made, ann, "update:node:r1", changed)).toBe(code);
    made.step = () => {};
    expect((await powers(ann))["r1"]).toBe("stopped");
    if (code === "host_error") {
      const plan = await ann.call("planProject", { yaml: pair });
      expect(plan.actions).toMatchObject([{ op: "start", key: "r1", reason: { code: "start_owed" }, disruption: "none" }]);
    }
    expect(await ann.call("reconcileProject", { yaml: pair })).toMatchObject({ applicable: true });
    expect(await powers(ann)).toEqual({ r1: "running", r2: "running" });
  });

  test("a new node that was not started yet is started by the next plan; a node that someone stopped meanwhile is not", async () => {
    const made = createBench();
    benches.push(made);
    const ann = await made.login();
    await ann.call("deployProject", { yaml: pair });
    expect(await run(made, ann, "create:link:r2:eth2 -- r3:eth1", three)).toBe(code);
    made.step = () => {};
    expect((await powers(ann))["r3"]).toBe("stopped");
    expect(made.store.labs.get(lab)?.owedStarts).toEqual(["r3"]);
    expect((await ann.call("planProject", { yaml: three })).operations).toContainEqual(expect.objectContaining({ op: "start", key: "r3" }));
    await ann.call("execProject", { lab, action: "stop", node: "r3" });
    expect((await ann.call("planProject", { yaml: three })).operations!.filter(({ op }) => op === "start")).toEqual([]);
    await confirmed(ann, three);
    expect((await powers(ann))["r3"]).toBe("stopped");
  });
});

test("after a crash whose change cannot go on, because the host needs a password, the next plan starts the node again", async () => {
  let hangs = false;
  const host = memoryHost({
    users,
    beforeStep: (_lab, { id }) => {
      if (id === "update:node:r1" && !hangs) {
        hangs = true;
        return new Promise<void>(() => {});
      }
      return undefined;
    },
  });
  const { resume: _none, ...closed } = host;
  const made = createBench({ host: closed });
  benches.push(made);
  const ann = await made.login();
  await ann.call("deployProject", { yaml: pair });
  confirmed(ann, changed).catch(() => {});
  await until(() => hangs);
  const next = made.restart();
  await next.service.recover();
  expect(await next.store.jobs.lastOf(lab)).toMatchObject({ outcome: "interrupted" });
  const again = await next.login();
  expect((await powers(again))["r1"]).toBe("stopped");
  const plan = await again.call("planProject", { yaml: changed });
  expect(plan.operations!.map(({ op, key }) => `${op} ${key}`)).toEqual(["update r1", "start r1"]);
  await confirmed(again, changed);
  expect(await powers(again)).toEqual({ r1: "running", r2: "running" });
});
