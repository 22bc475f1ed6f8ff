import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex, PassThrough, Readable } from "node:stream";
import { afterEach, expect } from "vitest";
import { Failure } from "../../../contract/errors.ts";
import { planLab } from "../../../engine/plan/plan-lab.ts";
import type { Lab, LabLink, LabNode } from "../../../intent/lab/lab.ts";
import type { Host, HostSession } from "../../host.ts";
import type { HostMoves, PartCalls } from "../../host-fleet.ts";
import { memoryHost } from "../../memory/memory-host.ts";
import { spreadHost } from "../spread-host.ts";
import type { FleetMachine, RecordedLab, SpreadOptions } from "../spread-labs.ts";

/* A fleet of memory hosts for tests of spread labs. */

export const path = "/lab";
export const nodes = ["a", "b"].map(
  (key): LabNode => ({ key, name: key, template: "linux", exec: [], env: {}, attributes: {}, labels: {} }),
);
export const spreadLab: Lab = { name: "lab", place: { spread: "nodes" }, nodes, networks: [], links: [], texts: [], trafficFilters: [] };
const { place: _, ...plain } = spreadLab;
/** The same lab on one machine. */
export const plainLab: Lab = plain;
export const progress = { ids: { nodes: {}, networks: {}, links: {} }, step: () => undefined };

/** A machine of the fleet. Its labs and its directory survive a kill of its service. */
export interface Machine {
  readonly number: number;
  readonly local: Host;
  readonly directory: string;
  readonly warnings: string[];
}

interface Started {
  readonly host?: Host;
  readonly sweepMs?: number;
  /** The lab as the database has it. */
  readonly recorded?: RecordedLab;
  /** The paths of the parts on its disk. */
  readonly parts?: readonly string[];
}

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Machines 1 and 2, with services that can be started and left, as after a kill. */
export async function fleet({ reserved, count = 2 }: Pick<SpreadOptions, "reserved"> & { readonly count?: number } = {}) {
  const base = await mkdtemp(join(tmpdir(), "labwright-spread-"));
  closers.push(() => rm(base, { recursive: true }));
  const services = new Map<number, Host>();
  const known: FleetMachine[] = Array.from({ length: count }, (_, at) => at + 1).map((number) => ({
    number,
    name: `m${number}`,
    labels: {},
    answers: true,
    isOpen: true,
    room: 40,
    underlay: { address: `192.0.2.${number}`, mtu: 9_000 },
  }));
  const machines = known.map(({ number }): Machine => {
    const memory = memoryHost();
    const leave = async (lab: string) => void (await remove(memory, lab));
    return { number, local: { ...memory, moves: { leave } as HostMoves }, directory: join(base, String(number)), warnings: [] };
  });
  const callsOf = (from: number): PartCalls => ({
    open: async (machine, call, signal) => {
      const input = new PassThrough();
      const service = services.get(machine);
      if (service === undefined) throw new Failure("machine_unreachable", `no connection to m${machine}: nothing was changed`);
      const { facts, body } = await service.parts!.answer(from, call, input, signal ?? new AbortController().signal);
      const stream = Duplex.from({ readable: body ?? Readable.from([], { objectMode: false }), writable: input });
      // A joined stream that is destroyed early emits an error, and a stream of HTTP/2 does not.
      stream.on("error", (error: Error) => expect(error.name).toBe("AbortError"));
      return { facts, stream };
    },
  });
  let vni = 8_388_608;
  const start = (
    { number, local, directory, warnings }: Machine,
    { host = local, sweepMs = 10, recorded, parts = [] }: Started = {},
  ): Host => {
    const service = spreadHost(host, {
      own: number,
      calls: callsOf(number),
      machines: () => known,
      ...(reserved !== undefined && { reserved }),
      takeVnis: async (count) => Array.from({ length: count }, () => vni++),
      directory,
      recorded: recorded === undefined ? [] : [recorded],
      parts,
      idMark: `000${number}`,
      warn: (text) => warnings.push(text),
      sweepMs,
    });
    services.set(number, service);
    closers.push(() => service.close());
    return service;
  };
  const kill = ({ number }: Machine) => services.delete(number);
  return { home: machines[0]!, other: machines[1]!, machines, known, services, start, kill, calls: callsOf };
}

export const link = (key: string, ...ends: readonly [string, string]): LabLink => ({
  key,
  endpoints: [
    { node: ends[0], interface: "eth0" },
    { node: ends[1], interface: "eth0" },
  ],
});

export const login = (host: Host) => host.login("admin", "admin");

export async function deploy(session: HostSession, desired: Lab) {
  const { operations } = planLab({ desired, observed: null, rules: await session.rules(), prune: false, replace: false });
  return session.apply(path, operations, progress);
}

/** Removes a lab without the knowledge of the service. */
export async function remove(local: Host, lab: string) {
  const session = await login(local);
  const observed = await session.observe(lab);
  if (observed === null) return;
  const ids = { ...progress.ids, nodes: Object.fromEntries(observed.nodes.map(({ id, name }) => [name, id])) };
  const stops = observed.nodes.map(({ name }) => ({ id: name, step: { do: "stop", node: name } }));
  const operations = [...stops, { id: "end", step: { do: "delete-lab", wipe: true } }] as unknown as Parameters<HostSession["apply"]>[1];
  await session.apply(lab, operations, { ...progress, ids });
}

export async function destroy(session: HostSession) {
  const observed = await session.observe(path);
  const ids = { ...progress.ids, nodes: Object.fromEntries(observed!.nodes.map(({ id, name }) => [name, id])) };
  const stops = observed!.nodes.map(({ name }) => ({ id: name, step: { do: "stop", node: name } }));
  const operations = [...stops, { id: "end", step: { do: "delete-lab", wipe: true } }] as unknown as Parameters<HostSession["apply"]>[1];
  await session.apply(path, operations, { ...progress, ids });
}

/** Only a spread lab has room on several machines. */
export const isSpread = (session: HostSession) => session.spread!.room(path, undefined) !== undefined;

export const filesIn = (machine: Machine, folder: "labs" | "making" | "parts") => readdir(join(machine.directory, folder)).catch(() => []);
