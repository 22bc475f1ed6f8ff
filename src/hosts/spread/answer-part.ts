import { Readable } from "node:stream";
import { Failure } from "../../contract/errors.ts";
import type { Operation } from "../../engine/model/plan.ts";
import type { ChangeWarning, Host, HostSession, WantedImage } from "../host.ts";
import type { HostParts } from "../host-fleet.ts";
import { encode } from "./codec.ts";
import { serveConsole, serveProcess } from "./programs.ts";
import { isRecordId, type PartRecord, partPath, type Records } from "./records.ts";
import type { PartApplied, PartApply, PartOf } from "./remote-part.ts";
import { serveTraffic } from "./traffic.ts";

type Args = readonly unknown[];
type Answer = (session: HostSession, path: string, args: Args, signal: AbortSignal) => Promise<unknown>;

/** Calls whose answer is JSON. */
const answers: Readonly<Record<string, Answer>> = {
  observe: (session, path) => session.observe(path),
  status: (session, path) => session.status(path),
  addresses: async (session, path) => (await session.addresses?.(path)) ?? new Map(),
  switches: async (session, path) => (await session.switches?.(path)) ?? new Map(),
  setLinkQuality: (session, path, [id, quality, options]) => session.setLinkQuality(path, id as string, quality as never, options as never),
  setLinkSuspend: (session, path, [id, suspended]) => session.setLinkSuspend(path, id as string, suspended as never),
  consoleLog: async (session, path, [id]) => (await session.consoleLog?.(path, id as string)) ?? "",
  saveConfigs: async (session, path, [ids], signal) => (await session.saveConfigs?.(path, ids as string[], signal)) ?? new Map(),
  setOwner: (session, path, [owner]) => session.setOwner?.(path, owner as string) ?? Promise.resolve(),
  "captures.start": (session, path, [request]) => captures(session).start(path, request as never),
  "captures.list": (session, path) => captures(session).list(path),
  "captures.get": (session, path, [id]) => captures(session).get(path, id as string),
  "captures.stop": (session, path, [id]) => captures(session).stop(path, id as string),
  "captures.remove": (session, path, [id]) => captures(session).remove(path, id as string),
  "captures.packets": (session, path, [id, query]) => captures(session).packets(path, id as string, query as never),
  "captures.packet": (session, path, [id, number]) => captures(session).packet(path, id as string, number as number),
  "traffic.counters": async (session, path) => (await session.traffic?.counters(path)) ?? new Map(),
};

function captures(session: HostSession): NonNullable<HostSession["captures"]> {
  if (session.captures === undefined) throw new Failure("unsupported", "this machine makes no captures", { data: { feature: "capture" } });
  return session.captures;
}

export interface AnswerOptions {
  /** The embedded host of this machine. */
  readonly local: Host;
  /** The parts of other machines' labs that this machine has. */
  readonly parts: Records<PartRecord>;
  /** Whether this machine is the home of the lab of another machine's part. */
  readonly isHome: (part: AskingPart) => Promise<boolean>;
  /** Returns the name of this machine. */
  readonly name: () => string;
}

/** A part whose machine asks whether its lab still has it. */
export interface AskingPart {
  readonly id: string;
  /** The number of its machine. */
  readonly machine: number;
  /** Absent, as the nodes: the machine has another release. */
  readonly owner?: string;
  /** The names of its nodes. */
  readonly nodes?: readonly string[];
}

/** Answers the calls of other machines to parts of their labs. */
export function answerParts(options: AnswerOptions): HostParts {
  const { local, parts, isHome } = options;
  return {
    labs: () => options.parts.all().map(({ path }) => path),
    answer: async (from, { name, args }, input, signal) => {
      const { id } = (args ?? {}) as PartOf;
      // It becomes the name of a file and a path.
      if (!isRecordId(id)) throw new Failure("bad_request", `the call ${name} of machine ${from} has an invalid id of a lab`);
      if (name === "isHome") {
        const { owner, nodes } = args as unknown as Partial<AskingPart>;
        const isKnown = typeof owner === "string" && Array.isArray(nodes);
        return { facts: await isHome({ id, machine: from, ...(isKnown && { owner, nodes }) }) };
      }
      const record = parts.get(id);
      if (record !== undefined && record.home !== 0 && record.home !== from)
        throw new Failure("operation_not_allowed", "the part belongs to a lab of another machine");
      if (name === "hasCapture") {
        const { capture } = args as unknown as { readonly capture: string };
        return { facts: record !== undefined && (await local.labOfCapture?.(capture)) === partPath(id) };
      }
      const { path: labPath, user, limit, args: given } = args as PartOf & { readonly args: Args };
      if (!Array.isArray(given)) throw new Failure("bad_request", `the call ${name} of machine ${from} has no arguments`);
      const session = await local.resume?.(user, limit);
      if (session === null || session === undefined) throw new Failure("invalid_credentials", `there is no user ${user}`);
      const path = partPath(id);
      if (name === "apply") {
        const change = given[0] as PartApply;
        if (!Array.isArray(change?.operations)) throw new Failure("bad_request", `the call ${name} of machine ${from} has no steps`);
        // The change would make another lab beside the one in quarantine, whose nodes may run.
        await refuseQuarantined(options, record);
        const isEnd = change.operations.at(-1)?.step.do === "delete-lab";
        // An apply ended before the part was made. To end it must not need space on the disk.
        if (isEnd && (await local.labId!(path)) === undefined) {
          await parts.remove(id);
          const applied: PartApplied = { done: change.operations.map((operation) => operation.id), warnings: [] };
          return { facts: null, body: Readable.from([encode(applied)], { objectMode: false }) };
        }
        if (record === undefined && !isEnd) await parts.put({ version: 1, id, path: labPath, home: from, owner: change.owner ?? user });
        const applied = await applyPart(session, path, change, signal);
        const part = parts.get(id);
        const own = await local.labId!(path);
        if (part !== undefined && own !== undefined && own !== part.labId) await parts.put({ ...part, labId: own });
        if (isEnd && applied.failure === undefined) await parts.remove(id);
        return { facts: null, body: Readable.from([encode(applied)], { objectMode: false }) };
      }
      if (name === "process") {
        const process = await session.processes!.start(path, given[0] as string, given[1] as never, signal);
        return { facts: null, body: serveProcess(process, input) };
      }
      if (name === "console") {
        const console = await session.console(path, given[0] as string);
        return { facts: { recalled: console.recalled }, body: serveConsole(console, input) };
      }
      if (name === "captures.read") {
        const bytes = captures(session).read(path, given[0] as string, { follow: given[1] === true, signal });
        return { facts: null, body: Readable.from(bytes, { objectMode: false }) };
      }
      if (name === "traffic.watch") return { facts: null, body: serveTraffic(session, path, given[0] as string, signal) };
      const answer = Object.hasOwn(answers, name) ? answers[name] : undefined;
      if (answer === undefined) throw new Failure("unsupported", `this machine has another release: it does not know the call ${name}`);
      const found = await answer(session, path, given, signal).catch(async (error: unknown) => {
        if (error instanceof Failure && error.code === "lab_not_found") await refuseQuarantined(options, record);
        throw error;
      });
      if (found === null) await refuseQuarantined(options, record);
      const text = encode(found);
      return { facts: null, body: Readable.from([text], { objectMode: false }) };
    },
  };
}

/** Throws operation_not_allowed for a part in quarantine. To its lab, it must not seem to be gone. */
async function refuseQuarantined({ local, name }: AnswerOptions, part: PartRecord | undefined): Promise<void> {
  if (part === undefined || !(await isQuarantined(local, part))) return;
  throw new Failure(
    "operation_not_allowed",
    `the part of ${part.path} on the machine ${name()} is in quarantine: its definition is missing or damaged, and its nodes may still run. Nothing was changed. ` +
      "An admin restores or deletes it with the service of that machine: labwright quarantine",
  );
}

export async function isQuarantined(local: Host, { id, labId }: Pick<PartRecord, "id" | "labId">): Promise<boolean> {
  const path = partPath(id);
  if ((await local.labId!(path)) !== undefined) return false;
  return (await local.holds!(path)) || (labId !== undefined && (await local.labIds!()).includes(labId));
}

async function applyPart(session: HostSession, path: string, change: PartApply, signal: AbortSignal): Promise<PartApplied> {
  const { operations, ids, owner, stopMode, force } = change;
  const done: string[] = [];
  const warnings: ChangeWarning[] = [];
  try {
    await session.fetchImages?.(imagesOf(operations), { signal, say: () => undefined });
    const applied = await session.apply(path, operations, {
      ids,
      signal,
      step: (id, state) => void (state === "done" && done.push(id)),
      warn: (warning) => warnings.push(warning),
      ...(owner !== undefined && { owner }),
      ...(stopMode !== undefined && { stopMode: stopMode as 0 }),
      ...(force !== undefined && { force }),
    });
    return { ...applied, done, warnings };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { done, warnings, failure: error };
  }
}

function imagesOf(operations: readonly Operation[]): readonly WantedImage[] {
  const wanted = operations.flatMap(({ step }): readonly WantedImage[] => {
    if (step.do !== "create-node" && step.do !== "update-node") return [];
    const { template, image, pull = "missing" } = step.node as typeof step.node & { pull?: WantedImage["pull"] };
    return image === undefined ? [] : [{ template, image, pull }];
  });
  return [...new Map(wanted.map((one) => [`${one.template} ${one.image}`, one])).values()];
}
