import { setTimeout as wait } from "node:timers/promises";
import { interfaceNaming } from "../../base/names/interface-names.ts";
import { Failure } from "../../contract/errors.ts";
import type { Operation } from "../../engine/model/plan.ts";
import type { Applied, Host, HostSession, LiveLink, LiveNode, LiveStatus, NativeIds, Progress } from "../host.ts";
import type { HostProcesses } from "../host-processes.ts";
import { type MemoryLab, observeMemoryLab, type TemplateFacts } from "./memory-lab.ts";
import { effectOf, setQuality, setSuspend } from "./memory-links.ts";
import { memoryProcess } from "./memory-process.ts";
import { memoryFeatures, memoryNetworkTypes, memoryRules } from "./memory-rules.ts";
import { type IdMaps, idMaps, isUp, runStep } from "./memory-steps.ts";
import { type MemoryTemplate, memoryTemplates } from "./memory-template.ts";

export interface MemoryUser {
  readonly name: string;
  readonly password: string;
  readonly role: HostSession["role"];
}

export interface MemoryHostOptions {
  /** Absent: one admin, `admin` with password `admin`. */
  readonly users?: readonly MemoryUser[];
  /** Absent: linux, frr, switch, pc. */
  readonly templates?: readonly MemoryTemplate[];
  /** Fields that the host cannot hold; absent: none. */
  readonly unsupportedFields?: readonly string[];
  /** How long each step takes, ms; absent: 0. */
  readonly latency?: number;
  /** Called before each step; what it throws (a Failure) breaks that step. */
  readonly beforeStep?: (lab: string, operation: Operation) => void | Promise<void>;
  /** Milliseconds, for uptimes; absent: the process's monotonic clock. */
  readonly now?: () => number;
  /** As on a host with labs of its own: each user sees those that the host shows to the user's session, with a record or without. */
  readonly ownLabs?: true;
}

/**
 * A host that keeps its labs in memory: the reference for the driver interface, for tests and for demonstrations. Nodes have a line shell
 * and pass no packets; everything else – order, refusals, locks, power, ids – is as on a real host.
 */
export function memoryHost(options: MemoryHostOptions = {}): Host {
  const labs = new Map<string, MemoryLab>();
  const world = createWorld(options);
  const { users } = world;
  const open = (user: MemoryUser) => memorySession(user, labs, world);
  return {
    kind: "memory",
    url: "memory:",
    login: async (name, password) => {
      const user = users.find((one) => one.name === name && one.password === password);
      if (user === undefined) throw new Failure("invalid_credentials", "wrong user name or password");
      return open(user);
    },
    resume: async (name, limit) => {
      const user = users.find((one) => one.name === name);
      return user === undefined ? null : open(limit !== undefined && user.role === "admin" ? { ...user, role: limit } : user);
    },
    ...(options.ownLabs === undefined && { holds: async (lab) => labs.has(lab) }),
    labId: async (lab) => labs.get(lab)?.id,
    labIds: async () => [...labs.values()].map(({ id }) => id).sort(),
    close: async () => {
      for (const lab of labs.values()) for (const node of lab.nodes.values()) node.shell?.close();
      labs.clear();
    },
  };
}

interface World extends Required<Pick<MemoryHostOptions, "users" | "templates" | "unsupportedFields" | "latency" | "now">> {
  readonly beforeStep: MemoryHostOptions["beforeStep"];
  readonly template: (id: string) => MemoryTemplate | undefined;
  readonly facts: (id: string) => TemplateFacts;
  /** Host ids of labs. */
  readonly nextLab: () => string;
}

function createWorld(options: MemoryHostOptions): World {
  const templates = [...(options.templates ?? memoryTemplates)].sort((a, b) => (a.id < b.id ? -1 : 1));
  const byId = new Map(templates.map((template) => [template.id, template]));
  let lab = 0;
  return {
    users: options.users ?? [{ name: "admin", password: "admin", role: "admin" }],
    templates,
    unsupportedFields: options.unsupportedFields ?? [],
    latency: options.latency ?? 0,
    now: options.now ?? (() => performance.now()),
    beforeStep: options.beforeStep,
    template: (id) => byId.get(id),
    facts: (id) => {
      const template = byId.get(id);
      const naming = interfaceNaming(template?.ethFormat ?? "");
      return { type: template?.type ?? "unknown", consoleType: template?.consoleType ?? "none", interfaceName: naming.name };
    },
    nextLab: () => String(++lab),
  };
}

/** The checks before a call of one user's session. */
interface UserChecks {
  /** Throws expired_host_session. */
  readonly alive: () => void;
  /** Returns the lab if the user may see it: users see their own labs, administrators and viewers all. */
  readonly mine: (lab: MemoryLab | undefined) => MemoryLab | undefined;
  /** Throws lab_not_found. */
  readonly labAt: (path: string) => MemoryLab;
  /** Throws operation_not_allowed, lab_not_found, and lab_locked. */
  readonly changing: (path: string) => MemoryLab;
  /** Throws operation_not_allowed for viewers. */
  readonly mayChange: () => void;
  /** Throws operation_not_allowed. */
  readonly refuseUnlessAdmin: (problem: string) => void;
}

function userChecks({ name, role }: MemoryUser, labs: ReadonlyMap<string, MemoryLab>, isClosed: () => boolean): UserChecks {
  const alive = () => {
    if (isClosed()) throw new Failure("expired_host_session", "the session was closed");
  };
  const mine = (lab: MemoryLab | undefined) => (lab !== undefined && (role !== "user" || lab.owner === name) ? lab : undefined);
  const labAt = (path: string): MemoryLab => {
    alive();
    const lab = mine(labs.get(path));
    // The same words for another user's lab, so that names do not leak.
    if (lab === undefined) throw new Failure("lab_not_found", `no lab ${path}`);
    return lab;
  };
  const mayChange = () => {
    alive();
    if (role === "viewer") throw new Failure("operation_not_allowed", "a viewer may not change labs");
  };
  return {
    alive,
    mine,
    labAt,
    mayChange,
    changing: (path) => {
      mayChange();
      const lab = labAt(path);
      refuseLocked(lab);
      return lab;
    },
    refuseUnlessAdmin: (problem) => {
      if (role !== "admin") throw new Failure("operation_not_allowed", problem);
    },
  };
}

function refuseLocked({ locked, path }: MemoryLab): void {
  if (locked) throw new Failure("lab_locked", `lab ${path} is locked: unlock it first`);
}

function memorySession(user: MemoryUser, labs: Map<string, MemoryLab>, world: World): HostSession {
  let closed = false;
  const checks = userChecks(user, labs, () => closed);
  return {
    user: user.name,
    role: user.role,
    ...hostCalls(checks, world),
    ...labCalls(checks, user, labs, world),
    ...consoleCalls(checks, world),
    ...processCalls(checks, world),
    close: async () => {
      closed = true;
    },
  };
}

/** The calls that need no lab. */
function hostCalls(
  { alive, refuseUnlessAdmin }: UserChecks,
  world: World,
): Required<Pick<HostSession, "capabilities" | "templates" | "networkTypes" | "icons" | "rules" | "users">> {
  return {
    capabilities: async () => {
      alive();
      return { reachable: true, features: memoryFeatures, stopModes: [0, 1, 2, 3] };
    },
    templates: async () => {
      alive();
      return world.templates;
    },
    networkTypes: async () => {
      alive();
      return memoryNetworkTypes;
    },
    icons: async () => {
      alive();
      const names = new Set(world.templates.flatMap(({ icon }) => icon ?? []));
      return [...names, "Cloud.png"].sort().map((name) => ({ name }));
    },
    rules: async () => {
      alive();
      return memoryRules(world.templates, world.unsupportedFields);
    },
    users: async () => {
      alive();
      refuseUnlessAdmin("only an admin can list the host's users");
      return world.users.map(({ name, role }) => ({ user: name, role }));
    },
  };
}

type LabCalls = "observe" | "labs" | "apply" | "status" | "setLinkQuality" | "setLinkSuspend" | "setOwner" | "setLock" | "saveConfigs";

function labCalls(
  { alive, mine, labAt, changing, mayChange, refuseUnlessAdmin }: UserChecks,
  { name }: MemoryUser,
  labs: Map<string, MemoryLab>,
  world: World,
): Required<Pick<HostSession, LabCalls>> {
  return {
    observe: async (path) => {
      alive();
      const lab = mine(labs.get(path));
      return lab === undefined ? null : observeMemoryLab(lab, world.facts);
    },
    labs: async () => {
      alive();
      return [...labs.values()]
        .filter((lab) => mine(lab) !== undefined)
        .map(({ path }) => path)
        .sort();
    },
    apply: async (path, operations, progress) => {
      mayChange();
      const lab = labs.get(path);
      if (lab !== undefined && mine(lab) === undefined) throw new Failure("lab_not_found", `no lab ${path}`);
      if (lab !== undefined) refuseLocked(lab);
      const { owner = name } = progress;
      if (owner !== name) refuseUnlessAdmin("only an admin can create labs for other users");
      return applySteps({ path, operations, progress, labs, world, owner });
    },
    status: async (path) => statusOf(labAt(path), world.now()),
    setLinkQuality: async (path, linkId, quality, { save }) => setQuality(changing(path), linkId, quality, save),
    setLinkSuspend: async (path, linkId, { a, b }) =>
      setSuspend(changing(path), linkId, { ...(a !== undefined && { a }), ...(b !== undefined && { b }) }),
    setOwner: async (path, owner) => {
      const lab = labAt(path);
      refuseUnlessAdmin("only an admin can give a lab to another user");
      labs.set(path, Object.assign(lab, { owner }));
    },
    setLock: async (path, locked) => {
      mayChange();
      labAt(path).locked = locked;
    },
    saveConfigs: async (path, ids) => {
      const lab = changing(path);
      return new Map(ids.map((id) => [id, saveConfig(lab, id, world)]));
    },
  };
}

function consoleCalls({ labAt }: UserChecks, world: World): Required<Pick<HostSession, "consoleLog" | "console">> {
  const nodeAt = (path: string, nodeId: string) => {
    const node = labAt(path).nodes.get(nodeId);
    if (node === undefined) throw new Failure("node_not_found", `no node ${nodeId} in lab ${path}`);
    return node;
  };
  return {
    consoleLog: async (path, nodeId) => {
      const node = nodeAt(path, nodeId);
      return node.shell?.log() ?? node.lastLog;
    },
    console: async (path, nodeId) => {
      const node = nodeAt(path, nodeId);
      if (world.template(node.definition.template)?.consoleType === "none") {
        throw new Failure("unsupported", `node ${node.definition.name} has no console`, { data: { feature: "consoleStream" } });
      }
      if (!isUp(node) || node.shell === undefined)
        throw new Failure("node_not_running", `node ${node.definition.name} is ${node.power}`, {
          data: { node: node.definition.name, power: node.power },
        });
      const stream = node.shell.view();
      return { stream, recalled: stream.readableLength };
    },
  };
}

function processCalls({ labAt, mayChange }: UserChecks, world: World): Required<Pick<HostSession, "processes">> {
  const start: HostProcesses["start"] = async (path, nodeId, program, signal) => {
    mayChange();
    const node = labAt(path).nodes.get(nodeId);
    if (node === undefined) throw new Failure("node_not_found", `no node ${nodeId} in lab ${path}`);
    const { name, template } = node.definition;
    if (world.template(template)?.consoleType === "none")
      throw new Failure("unsupported", `${name} runs no program: a switch has no programs`, { data: { feature: "nodeExec" } });
    if (!isUp(node)) throw new Failure("node_not_running", `${name} does not run`, { data: { node: name, power: node.power } });
    return memoryProcess(name, program, signal);
  };
  return { processes: { start } };
}

/** Saves the startup config of the node's definition, or a config with only its name. */
function saveConfig(lab: MemoryLab, id: string, world: World): string | Failure {
  const node = lab.nodes.get(id);
  if (node === undefined) return new Failure("node_not_found", `no node ${id} in lab ${lab.path}`);
  const { name, template, startupConfig = `hostname ${name}\n` } = node.definition;
  if (world.template(template)?.configSupported !== true)
    return new Failure("unsupported", `nodes of template ${template} cannot save a configuration`, { data: { feature: "saveConfigs" } });
  node.definition = { ...node.definition, startupConfig };
  return startupConfig;
}

async function applySteps(run: {
  readonly path: string;
  readonly operations: readonly Operation[];
  readonly progress: Progress;
  readonly labs: Map<string, MemoryLab>;
  readonly world: World;
  readonly owner: string;
}): Promise<Applied> {
  const { path, operations, progress, labs, world } = run;
  const ids = idMaps(progress.ids);
  for (const [index, operation] of operations.entries()) {
    progress.signal?.throwIfAborted();
    if (labs.get(path)?.locked) {
      throw new Failure("lab_locked_mid_apply", `lab ${path} was locked after ${index} steps`, {
        data: { applied: operations.slice(0, index).map(({ id }) => id), remaining: operations.slice(index).map(({ id }) => id) },
      });
    }
    progress.step(operation.id, "running");
    await world.beforeStep?.(path, operation);
    if (world.latency > 0) await wait(world.latency);
    runOperation(run, ids, operation);
    progress.step(operation.id, "done");
  }
  const labId = labs.get(path)?.id;
  return { ids: nativeIds(ids), ...(labId !== undefined && { labId }) };
}

function runOperation(
  {
    path,
    labs,
    world,
    owner,
  }: { readonly path: string; readonly labs: Map<string, MemoryLab>; readonly world: World; readonly owner: string },
  ids: IdMaps,
  { step }: Operation,
): void {
  const lab = labs.get(path);
  if (step.do === "create-lab") {
    const { name, description, management, texts, trafficFilters } = step.lab;
    const id = lab?.id ?? world.nextLab();
    const made = lab ?? {
      path,
      id,
      owner,
      locked: false,
      nodes: new Map(),
      networks: new Map(),
      links: new Map(),
      linksByEnd: new Map(),
      liveQuality: new Map(),
      nextId: 1,
    };
    labs.set(
      path,
      Object.assign(made, { name, description: description === "" ? undefined : description, management, texts, trafficFilters }),
    );
    return;
  }
  if (step.do === "delete-lab") {
    for (const node of lab?.nodes.values() ?? []) {
      if (isUp(node)) throw new Failure("host_error", `node ${node.definition.name} runs`, { data: { host: { code: "node_running" } } });
      node.shell?.close();
    }
    labs.delete(path);
    for (const map of [ids.nodes, ids.networks, ids.links]) map.clear();
    return;
  }
  // After a crash, the steps of a change run again. If one of them has deleted the lab, its parts are gone too, and the steps before it have nothing to do.
  if (lab === undefined && (step.do === "stop" || step.do === "wipe" || step.do.startsWith("delete-"))) return;
  if (lab === undefined) throw new Failure("lab_not_found", `no lab ${path}`);
  runStep(lab, ids, step, world);
}

function nativeIds(ids: IdMaps): NativeIds {
  const record = (map: ReadonlyMap<string, string>) => Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)));
  return { nodes: record(ids.nodes), networks: record(ids.networks), links: record(ids.links) };
}

function statusOf(lab: MemoryLab, now: number): LiveStatus {
  const nodes = [...lab.nodes.values()].map(({ definition, power, startedAt }): LiveNode => {
    const up = power === "running" || power === "starting";
    return {
      id: definition.id,
      name: definition.name,
      status: power,
      ...(up && { ready: true, uptime_ms: Math.max(0, Math.round(now - startedAt)) }),
    };
  });
  const links = [...lab.links.values()].flatMap((link): readonly LiveLink[] => {
    const sides = effectOf(lab, link);
    return sides.a === undefined && sides.b === undefined ? [] : [{ id: link.id, ...sides }];
  });
  return { nodes, links };
}
