import { expect } from "vitest";
import type { FakeEveOptions } from "../../../test/fakes/eve/options.ts";
import { joinIds } from "../../engine/compare/join.ts";
import { readLab } from "../../engine/compare/read-lab.ts";
import type { HostRules, Operation, Plan, Step } from "../../engine/model/plan.ts";
import { planLab } from "../../engine/plan/plan-lab.ts";
import { type Endpoint, type Lab, type LabNode, linkKey } from "../../intent/lab/lab.ts";
import type { HostSession, NativeIds, Progress } from "../host.ts";
import { type EveFixture, eveFixture } from "./eve-host.fixture.ts";
import type { EveHostOptions } from "./host.ts";

/** A session with a fake host. Plans and applies labs as the service does. Must be closed. */
export interface EveBench extends EveFixture {
  readonly session: HostSession;
  readonly rules: HostRules;
  readonly plan: (path: string, desired: Lab | null) => Promise<Plan>;
  /** Plans, applies, and expects the next plan to be empty. */
  readonly make: (path: string, desired: Lab | null) => Promise<Plan>;
  /** Runs the steps with the recorded ids of the lab. */
  readonly run: (path: string, desired: Lab | null, operations: readonly Operation[], progress?: Partial<Progress>) => Promise<void>;
  /** Returns the lab as an intent, read only from the host. */
  readonly capture: (path: string) => Promise<Lab>;
  /** Returns the calls since the last call of this function. */
  readonly calls: () => readonly string[];
}

export async function eveBench(options: FakeEveOptions = {}, more: Partial<EveHostOptions> = {}): Promise<EveBench> {
  const fixture = await eveFixture({ templates: ["iol", "linux", "vios", "vpcs"], ...options }, more);
  const { fake } = fixture;
  const session = await fixture.host.login("admin", "eve");
  const rules = await session.rules();
  const ids = new Map<string, NativeIds>();
  const plan = async (path: string, desired: Lab | null) => {
    const known = ids.get(path);
    return planLab({ desired, observed: await session.observe(path), rules, ...(known && { ids: known }), prune: true, replace: false });
  };
  const run: EveBench["run"] = async (path, desired, operations, progress = {}) => {
    const known = joinIds(desired, await session.observe(path), ids.get(path));
    ids.set(path, (await session.apply(path, operations, { ids: known, step: () => {}, ...progress })).ids);
  };
  let heard = fake.calls.length;
  return {
    ...fixture,
    session,
    rules,
    plan,
    run,
    make: async (path, desired) => {
      const planned = await plan(path, desired);
      expect(planned.blocked).toEqual([]);
      await run(path, desired, planned.operations);
      expect((await plan(path, desired)).actions).toEqual([]);
      return planned;
    },
    capture: async (path) => {
      const observed = await session.observe(path);
      if (observed === null) throw new Error(`there is no lab ${path}`);
      return readLab({ observed, rules });
    },
    calls: () => {
      const since = fake.calls.slice(heard);
      heard = fake.calls.length;
      return since;
    },
  };
}

export const node = (key: string, template: string, more: Partial<LabNode> = {}): LabNode => ({
  key,
  name: key,
  template,
  exec: [],
  env: {},
  attributes: {},
  labels: {},
  ...more,
});

export const end = (text: string): Endpoint => {
  const [name = "", port] = text.split(/:(.*)/s);
  return port === undefined ? { network: name } : { node: name, interface: port };
};

export const link = (a: string, b: string) => ({ key: linkKey(end(a), end(b)), endpoints: [end(a), end(b)] as const });

export const lab = (parts: Partial<Lab>): Lab => ({
  name: "lab",
  nodes: [],
  networks: [],
  links: [],
  texts: [],
  trafficFilters: [],
  ...parts,
});

/** Two PCs with a cable, one of them with a startup config. */
export const pair: Lab = lab({
  name: "pair",
  nodes: [node("pc1", "vpcs", { startupConfig: "ip 10.0.0.1/24\n" }), node("pc2", "vpcs")],
  links: [link("pc1:eth0", "pc2:eth0")],
});

/** Returns a step like those of the power operations, without a plan. */
export function operation(step: Step): Operation {
  const key = "node" in step && typeof step.node === "string" ? step.node : "lab";
  const reason = { code: "requested", text: "asked for" } as const;
  const id = `${step.do}:${key}`;
  return { id, of: id, op: "update", kind: "node", key, reason, disruption: "none", affects: [], changes: [], prune: false, step };
}
