import { errors, type Failure } from "../contract/errors.ts";
import type { Operation } from "../engine/model/plan.ts";
import type { Host } from "../hosts/host.ts";
import { memoryHost } from "../hosts/memory/memory-host.ts";
import type { Call, Caller } from "./common/call.ts";
import { createService, type ServiceOptions } from "./create-service.ts";
import type { Handlers, Service } from "./service.ts";
import { sqliteStore } from "./store/sqlite.ts";
import type { Store } from "./store/store.ts";

/** A service over a real memory host and a real store, and short ways to call it. For tests. */
export interface Bench {
  readonly host: Host;
  readonly store: Store;
  readonly service: Service;
  /** Lines of the log. */
  readonly log: string[];
  /** The service's time, ms; add to it to let time pass. */
  readonly time: { now: number /** How long the machine has slept of that, ms. */; asleep?: number };
  /** Called before each host step; what it throws breaks the step, what it waits for holds it. */
  step: (lab: string, operation: Operation) => void | Promise<void>;
  login(user?: string): Promise<Client>;
  /** A second service on the same host and store, as after a restart. */
  restart(): Bench;
}

type Body<Id extends keyof Handlers> = Parameters<Handlers[Id]>[0]["body"];

export interface Client {
  readonly token: string;
  readonly caller: Caller;
  /** Calls an operation with a body. */
  call<Id extends keyof Handlers>(id: Id, body?: Body<Id>, options?: Partial<Call>): ReturnType<Handlers[Id]>;
  get<Id extends keyof Handlers>(id: Id, params?: object, query?: object): ReturnType<Handlers[Id]>;
}

export const users = [
  { name: "admin", password: "admin", role: "admin" },
  { name: "ann", password: "ann", role: "user" },
  { name: "bob", password: "bob", role: "user" },
  { name: "eve", password: "eve", role: "viewer" },
] as const;

/** @param options ownLabs: the memory host has labs of its own, as EVE-NG does */
export function createBench({ ownLabs, ...options }: Partial<ServiceOptions> & { readonly ownLabs?: true } = {}): Bench {
  const time: Bench["time"] = { now: Date.UTC(2026, 0, 1) };
  const hook: { step: Bench["step"] } = { step: () => {} };
  const host =
    options.host ?? memoryHost({ users, ...(ownLabs && { ownLabs }), beforeStep: (lab, operation) => hook.step(lab, operation) });
  return assemble(host, options.store ?? sqliteStore(":memory:"), time, hook, options);
}

function assemble(host: Host, store: Store, time: Bench["time"], hook: { step: Bench["step"] }, options: Partial<ServiceOptions>): Bench {
  const log: string[] = [];
  const service = createService({
    clock: { now: () => time.now, uptime: () => time.now - (time.asleep ?? 0) },
    version: "test",
    ...options,
    host,
    store,
    log: (level, message, fields) => log.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
  });
  const call = (more: Partial<Call> = {}): Call => ({
    requestId: "test",
    signal: new AbortController().signal,
    address: "127.0.0.1",
    respondAsync: false,
    ...more,
  });
  return {
    host,
    store,
    service,
    log,
    time,
    get step() {
      return hook.step;
    },
    set step(step) {
      hook.step = step;
    },
    login: async (user = "ann") => {
      const request = { body: { username: user, password: user }, query: undefined, params: undefined };
      const { token } = await service.handlers.login(request, null, call());
      const caller = service.authenticate(token);
      type Any = (request: unknown, caller: Caller, call: Call) => never;
      return {
        token: token!,
        caller,
        call: (id, body, more) =>
          (service.handlers[id] as unknown as Any)({ body, query: {}, params: {} }, service.authenticate(token), call(more)),
        get: (id, params = {}, query = {}) =>
          (service.handlers[id] as unknown as Any)({ body: undefined, query, params }, service.authenticate(token), call()),
      };
    },
    restart: () => assemble(host, store, time, hook, options),
  };
}

/** Returns the failure of a call. Throws if the call succeeds. */
export async function failureOf(answer: Promise<unknown> | (() => unknown)): Promise<Failure> {
  try {
    await (typeof answer === "function" ? answer() : answer);
  } catch (error) {
    if (!((error as Failure).code in errors)) throw error;
    return error as Failure;
  }
  throw new Error("the call did not fail");
}

/** A list in a failure's data. */
export function listOf(failure: Failure, name: keyof NonNullable<Failure["data"]>): readonly unknown[] {
  const list = failure.data?.[name];
  if (!Array.isArray(list)) throw new Error(`data.${name} is not a list`);
  return list;
}

export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error("it did not become true within 30 s");
    await new Promise((settle) => setTimeout(settle, 5));
  }
}

export const pair = `# two routers
name: pair
nodes:
  r1: {template: frr}
  r2: {template: frr} # the second
links:
  - ["r1:eth1", "r2:eth1"]
`;

/** pair with a third router. */
export const three = `${pair.replace("links:", "  r3: {template: frr}\nlinks:")}  - ["r2:eth2", "r3:eth1"]\n`;
