import { expect } from "vitest";
import { joinIds } from "../../engine/compare/join.ts";
import type { ObservedLab, ObservedNode } from "../../engine/model/observed.ts";
import type { Operation, Plan } from "../../engine/model/plan.ts";
import { planLab } from "../../engine/plan/plan-lab.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import type { Host, HostSession, LiveNode, NativeIds, Progress } from "../host.ts";
import type { ConformanceDialect } from "./dialect.ts";
import { progressOf, within } from "./tools.ts";

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

/** The tools of the cases: one session, and labs under paths of their own that are destroyed after each case. */
export interface Bench {
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

export async function openBench({ host, user, password }: ConformanceTarget, options: ConformanceOptions): Promise<Bench> {
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

/** Title of a case → the case. */
export type Cases = Readonly<Record<string, (bench: Bench, target: ConformanceTarget) => Promise<void>>>;
