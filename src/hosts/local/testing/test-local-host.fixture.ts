import { scryptSync } from "node:crypto";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { joinIds } from "../../../engine/compare/join.ts";
import type { Operation, Plan } from "../../../engine/model/plan.ts";
import { planLab } from "../../../engine/plan/plan-lab.ts";
import type { Lab } from "../../../intent/lab/lab.ts";
import { readIntent } from "../../../intent/read/read.ts";
import type { Applied, Host, HostSession, NativeIds } from "../../host.ts";
import { localHost } from "../host.ts";
import { idRange } from "../machine/idmap.ts";
import type { RunResult } from "../machine/machine.ts";
import { type LocalPaths, localPaths } from "../machine/paths.ts";
import type { LocalHostOptions } from "../open-state.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { openSandbox } from "../sandbox/sandbox-client.ts";
import { testDirectory } from "./test-directory.fixture.ts";

/** An embedded host on directories of its own, for tests: images and holder are those of set-up. Closing it destroys all its labs. */
export interface TestLocalHost extends AsyncDisposable {
  readonly paths: LocalPaths;
  readonly host: Host;
  readonly session: HostSession;
  /** The warnings so far, without those of slow steps: tests also run on busy machines. */
  readonly warnings: readonly string[];
  /** Plans the changes from the host's current state to this lab. */
  plan(path: string, lab: Lab | null): Promise<{ readonly plan: Plan }>;
  /** Plans the changes from the host's current state to this lab and applies them. Keeps the ids for the next call. */
  deploy(path: string, lab: Lab | null): Promise<{ readonly plan: Plan; readonly applied: Applied }>;
  /** Of the last deploy. */
  ids(path: string): NativeIds;
  /** Runs a program in the node with this key. */
  exec(path: string, node: string, ...argv: readonly string[]): Promise<RunResult>;
  /** Opens the lab's sandbox, independent of the host's own handle. */
  sandbox(path: string): Promise<Sandbox>;
  /** Closes this host without ending labs, does what is given, and opens another host on the same directories. */
  reopen(between?: () => Promise<void>): Promise<void>;
}

export const noIds: NativeIds = { nodes: {}, networks: {}, links: {} };
const password = "test";
/** The hash of real accounts takes a login 60 ms of processor time. */
const cost = { N: 16, r: 8, p: 1 };
const salt = Buffer.from("of tests");
const hash = `scrypt$${cost.N}$${cost.r}$${cost.p}$${salt.toString("base64url")}$${scryptSync(password, salt, 32, cost).toString("base64url")}`;
const admin = { name: "admin", role: "admin", hash };

/** @param images another image directory than the machine's */
export async function testLocalHost({
  images,
  ...options
}: { readonly images?: string } & Pick<
  LocalHostOptions,
  "bindAllow" | "captureLimits" | "diskPace" | "freeMemory" | "hostsFile" | "maxNeighbours" | "nat" | "stopGrace" | "tunnels"
> = {}): Promise<TestLocalHost> {
  const machine = localPaths(process.env, process.getuid!());
  for (const needed of [machine.holder, machine.images]) {
    await stat(needed).catch(() => Promise.reject(new Error(`${needed} is missing: npm run setup makes it`)));
  }
  const base = await testDirectory("host");
  const paths: LocalPaths = {
    ...machine,
    state: join(base, "state"),
    run: join(base, "run"),
    vmImages: join(base, "state", "vm-images"),
    ...(images === undefined ? {} : { images }),
  };
  await mkdir(paths.state, { mode: 0o700 });
  await writeFile(join(paths.state, "users.json"), JSON.stringify({ version: 1, users: [admin] }), { mode: 0o600 });
  const warnings: string[] = [];
  const ids = new Map<string, NativeIds>();
  const isSlowStep = (text: string) => /^the start of the embedded host: .* took /.test(text);
  const open = () => localHost({ ...options, paths, warn: (text) => void (isSlowStep(text) || warnings.push(text)) });
  let host = open();
  let session = await host.login("admin", password);

  const sandbox = async (path: string): Promise<Sandbox> => {
    const observed = await session.observe(path);
    if (observed === null) throw new Error(`no lab ${path}`);
    const found = await openSandbox({ holder: paths.holder, dir: join(paths.run, observed.id), lab: observed.id, idMap: idRange });
    if (found === null) throw new Error(`lab ${path} has no sandbox`);
    return found;
  };

  const plan = async (path: string, lab: Lab | null) => {
    const observed = await session.observe(path);
    const known = joinIds(lab, observed, ids.get(path));
    return { plan: planLab({ desired: lab, observed, rules: await session.rules(), ids: known, prune: true, replace: false }), known };
  };

  return {
    paths,
    warnings,
    get host() {
      return host;
    },
    get session() {
      return session;
    },
    sandbox,
    plan,
    deploy: async (path, lab) => {
      const { plan: made, known } = await plan(path, lab);
      const applied = await session.apply(path, made.operations, { ids: known, step: () => undefined });
      ids.set(path, applied.ids);
      return { plan: made, applied };
    },
    ids: (path) => ids.get(path) ?? noIds,
    exec: async (path, node, ...argv) => {
      const id = ids.get(path)?.nodes[node];
      if (id === undefined) throw new Error(`no node ${node}`);
      return (await sandbox(path)).exec(Number(id), argv, { timeoutMs: 60_000 });
    },
    reopen: async (between) => {
      await host.close();
      await between?.();
      host = open();
      session = await host.login("admin", password);
    },
    async [Symbol.asyncDispose]() {
      for (const path of await session.labs()) {
        await session.setLock(path, false);
        const observed = await session.observe(path);
        const { operations } = planLab({ desired: null, observed, rules: await session.rules(), prune: true, replace: false });
        await session.apply(path, operations, { ids: noIds, step: () => undefined });
      }
      await host.close();
      await rm(base, { recursive: true, force: true });
    },
  };
}

/** Parses a lab from YAML. Throws the first problem. */
export function labOf(yaml: string, files: Readonly<Record<string, string>> = {}): Lab {
  const { lab, diagnostics } = readIntent(yaml, files);
  if (lab === undefined) throw new Error(diagnostics.map(({ line, message }) => `${line}: ${message}`).join("; "));
  return lab;
}

/** Reads one of Labwright's example labs with its files. @param edit changes its text */
export async function exampleLab(name: string, edit: (yaml: string) => string = (yaml) => yaml): Promise<Lab> {
  const file = fileURLToPath(new URL(`../../../../labs/${name}.yaml`, import.meta.url));
  const yaml = edit(await readFile(file, "utf8"));
  const files: Record<string, string> = {};
  for (const [, path] of yaml.matchAll(/startup-config: (\S+)/g)) {
    files[normalize(path!)] = await readFile(join(dirname(file), path!), "utf8");
  }
  return labOf(yaml, files);
}

/** Returns a plan step for `apply`. @param index a number that no other step of the apply has */
export function operation(step: object, index: number): Operation {
  const base = {
    op: "update",
    kind: "node",
    key: "k",
    reason: { code: "requested", text: "" },
    disruption: "none",
    affects: [],
    changes: [],
    prune: false,
  };
  return { ...base, id: String(index), of: String(index), step } as unknown as Operation;
}

/** Repeats the call until its result matches. Throws with the last result after `ms`. */
export async function eventually<T>(what: string, ms: number, ask: () => Promise<T>, holds: (answer: T) => boolean): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    const answer = await ask();
    if (holds(answer)) return answer;
    if (performance.now() > end) throw new Error(`${what}: not within ${ms} ms; last ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
