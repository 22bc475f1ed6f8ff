import type { Duplex } from "node:stream";
import type { Operation } from "../../engine/model/plan.ts";
import type { Applied, HostSession, NativeIds } from "../host.ts";
import type { HostCaptures } from "../host-captures.ts";
import type { PartCalls } from "../host-fleet.ts";
import type { HostProcesses } from "../host-processes.ts";
import type { HostTraffic } from "../host-traffic.ts";
import { decode, textOf } from "./codec.ts";
import { remoteConsole, remoteProcess } from "./programs.ts";
import { readTraffic } from "./traffic.ts";

/** The user of a call, and the lab whose part it is about. */
export interface PartOf {
  /** The home machine's id of the lab. */
  readonly id: string;
  readonly path: string;
  readonly user: string;
  /** The session has only the rights of a user. */
  readonly limit?: "user";
}

export interface PartApply {
  readonly operations: readonly Operation[];
  readonly ids: NativeIds;
  readonly owner?: string;
  readonly stopMode?: number;
  readonly force?: boolean;
}

export interface PartApplied extends Partial<Applied> {
  /** Ids of the steps that are done. */
  readonly done: readonly string[];
  readonly warnings: readonly unknown[];
  readonly failure?: unknown;
}

/** The calls of a session that are about one lab, for a part on another machine. The path of each call is ignored. */
export type PartSession = Pick<HostSession, "observe" | "status" | "setLinkQuality" | "setLinkSuspend" | "console"> &
  Required<Pick<HostSession, "addresses" | "consoleLog" | "saveConfigs" | "setOwner" | "switches">> & {
    readonly captures: HostCaptures;
    readonly processes: HostProcesses;
    readonly traffic: Pick<HostTraffic, "watch" | "counters">;
    applyPart(change: PartApply, signal: AbortSignal | undefined): Promise<PartApplied>;
  };

/** Returns the session of a part on another machine. */
export function remotePart(calls: PartCalls, machine: number, part: PartOf): PartSession {
  const call = async <T>(name: string, args: readonly unknown[], signal?: AbortSignal): Promise<T> => {
    const { stream } = await calls.open(machine, { name, args: { ...part, args } }, signal);
    stream.end();
    try {
      return decode(await textOf(stream)) as T;
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  };
  const open = (name: string, args: readonly unknown[], signal?: AbortSignal) =>
    calls.open(machine, { name, args: { ...part, args } }, signal);
  return {
    applyPart: (change, signal) => call("apply", [change], signal),
    observe: () => call("observe", []),
    status: () => call("status", []),
    addresses: () => call("addresses", []),
    setLinkQuality: (_lab, id, quality, options) => call("setLinkQuality", [id, quality, options]),
    setLinkSuspend: (_lab, id, suspended) => call("setLinkSuspend", [id, suspended]),
    consoleLog: (_lab, id) => call("consoleLog", [id]),
    saveConfigs: (_lab, ids, signal) => call("saveConfigs", [ids], signal),
    setOwner: (_lab, owner) => call("setOwner", [owner]),
    console: async (_lab, id) => {
      const { facts, stream } = await open("console", [id]);
      return remoteConsole(stream, (facts as { recalled?: number } | null)?.recalled);
    },
    processes: {
      start: async (_lab, id, program, signal) => remoteProcess((await open("process", [id, program], signal)).stream),
    },
    captures: {
      start: (_lab, request) => call("captures.start", [request]),
      list: () => call("captures.list", []),
      get: (_lab, id) => call("captures.get", [id]),
      stop: (_lab, id) => call("captures.stop", [id]),
      remove: (_lab, id) => call("captures.remove", [id]),
      packets: (_lab, id, query) => call("captures.packets", [id, query]),
      packet: (_lab, id, number) => call("captures.packet", [id, number]),
      read: (_lab, id, { follow, signal }) => bytesOf(() => open("captures.read", [id, follow], signal)),
    },
    traffic: {
      counters: () => call("traffic.counters", []),
      watch: async (_lab, id, listener, signal) => {
        const { stream } = await open("traffic.watch", [id], signal);
        await readTraffic(stream, listener);
      },
    },
    switches: () => call("switches", []),
  };
}

async function* bytesOf(open: () => Promise<{ readonly stream: Duplex }>): AsyncGenerator<Uint8Array> {
  const { stream } = await open();
  try {
    for await (const part of stream) yield part as Uint8Array;
  } finally {
    stream.destroy();
  }
}
