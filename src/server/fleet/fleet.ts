import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "node:https";
import { Failure } from "../../contract/errors.ts";
import { ownProtocol } from "../../contract/fleet-protocol.ts";
import { type DataOf, operations } from "../../contract/operations.ts";
import type { PartCalls } from "../../hosts/host-fleet.ts";
import type { Caller } from "../../service/common/call.ts";
import type { FleetCalls, ListOfMachine } from "../../service/common/fleet-calls.ts";
import type { Log } from "../../service/common/log.ts";
import type { MachineFacts, MachineStore } from "../../service/store/machines.ts";
import type { FleetRoutes } from "../http/here-or-forwarded.ts";
import { factsNow } from "./facts.ts";
import { Forwarder } from "./forwarder.ts";
import { listenForMembers, type MemberListener, memberTls } from "./member-listener.ts";
import { joinFleet, type MemberCredentials } from "./membership.ts";
import { PartConnections } from "./part-streams.ts";
import type { OpenCallsOptions } from "./reach/open-calls.ts";
import { connectionProblem } from "./reach/reach.ts";

export interface FleetOptions {
  readonly stateDir: string;
  readonly machines: MachineStore;
  readonly name: string;
  /** Address at which the other machines reach this one: https://HOST:PORT. */
  readonly url: string;
  readonly token?: string | undefined;
  readonly version: string;
  /** The address of this machine for links between machines. */
  readonly underlay?: MachineFacts["underlay"];
  /** Size and load of this machine now. */
  readonly facts?: () => MachineFacts;
  /** Number of the protocol of this machine. Absent: that of this release. */
  readonly protocol?: number | undefined;
  /** Times of the probes of machines with open calls. */
  readonly probes?: Omit<OpenCallsOptions, "probe">;
  /** Called when this machine has been removed from the fleet. */
  readonly onRemoved?: () => void;
  readonly log: Log;
}

/** This service as a machine of a fleet. */
export interface Fleet {
  readonly calls: FleetCalls;
  readonly parts: PartCalls;
  /** Gives the function that names the labs with parts on this machine, for its reports. */
  reportParts(labs: () => readonly string[]): void;
  /** Whether a machine is part of the fleet. */
  hasMember(machine: number): boolean;
  readonly routes: FleetRoutes;
  /** The certificate of this machine now. */
  credentials(): MemberCredentials;
  /** Listens for the other machines. */
  listen(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server>;
  close(): void;
}

/** Interval of reports, ms. A machine that has not reported for three of them does not answer. */
const reportMs = 3_000;
/** Certificates are valid for 30 days. */
const renewMs = 24 * 3_600_000;
/** Longest wait for the list of another machine's labs, ms. */
const listMs = 5_000;
/** Longest wait for a sign of life of another machine in the list of machines, ms. */
const problemMs = 3_000;

/** Joins the fleet and reports from then on. Throws an Error for the user. */
export async function openFleet({
  stateDir,
  machines,
  name,
  url,
  token,
  version,
  underlay,
  facts = () => factsNow(version, underlay),
  protocol = ownProtocol,
  probes,
  onRemoved,
  log,
}: FleetOptions): Promise<Fleet> {
  const membership = await joinFleet({ stateDir, machines, name, url, token, facts: facts() });
  let credentials = membership.credentials();
  const forwarder = new Forwarder(() => credentials, { protocol, probes });
  const connections = new PartConnections(async (number) => forwarder.connectParts(machineOf(number)));
  let listener: MemberListener | undefined;
  let isMember = true;
  let isUnlisted = false;
  let partLabs: () => readonly string[] = () => [];
  let images: () => Promise<NonNullable<MachineFacts["images"]>> = async () => [];
  /** Returns whether the database has the report. It logs itself that it does not answer. */
  const reported = async (): Promise<boolean> => {
    const shared = await images().catch((error: unknown) => {
      if (!isUnlisted) log("error", "the images of this machine cannot be listed for the others", { error: String(error) });
      isUnlisted = true;
      return [];
    });
    const parts = partLabs().length;
    const now = { ...facts(), ...(parts > 0 && { parts }), ...(shared.length > 0 && { images: shared }) };
    return machines.report(now).then(
      () => true,
      () => false,
    );
  };
  const report = async () => {
    if (await reported()) {
      const isThere = machines.list().some(({ number }) => number === membership.number);
      const isRemoved = isMember && !isThere;
      isMember = isThere;
      listener?.dropRemoved();
      if (isRemoved) {
        log("error", "this machine was removed from the fleet: its calls are refused, and other machines may take its labs over");
        onRemoved?.();
      }
    }
    reporting = setTimeout(() => void report(), reportMs).unref();
  };
  let reporting = setTimeout(() => void report(), reportMs).unref();
  const renewing = setInterval(() => {
    credentials = membership.credentials();
    listener?.server.setSecureContext(memberTls(credentials));
    forwarder.renew();
  }, renewMs).unref();
  const machineOf = (number: number) => {
    const machine = machines.list().find((one) => one.number === number);
    if (machine !== undefined) return machine;
    throw new Failure("machine_unreachable", "the machine has just left the fleet", { data: { machine: String(number) } });
  };
  log("info", "this service is a machine of the fleet", { machine: name, number: membership.number, url });
  warnOfClock(machines, membership.number, log);
  return {
    calls: {
      createToken: (lifetimeMs) => membership.createToken(lifetimeMs),
      call: async (number, call, signal) => forwarder.call(machineOf(number), call, signal),
      reportImages: (list) => {
        images = list;
      },
      list: async <Id extends ListOfMachine>(number: number, id: Id, caller: Caller, requestId: string) => {
        const { method, path: url } = operations[id];
        return (await forwarder.ask(machineOf(number), { method, url }, { caller, requestId, address: "" }, listMs)) as DataOf<Id>;
      },
      problem: async (number) => {
        const machine = machines.list().find((one) => one.number === number);
        if (machine === undefined) return undefined;
        const { method, path } = operations.getHealth;
        const asked = forwarder.ask(machine, { method, url: path }, { caller: null, requestId: "", address: "" }, problemMs);
        return asked.then(
          () => undefined,
          // Without a cause the other machine has answered.
          ({ cause }: Error) => (cause instanceof Error ? connectionProblem(machine, cause) : undefined),
        );
      },
    },
    reportParts: (labs) => {
      partLabs = labs;
    },
    parts: { open: (number, call, signal) => connections.open(number, call, signal) },
    hasMember: (machine) => machines.list().some(({ number }) => number === machine),
    routes: { machines, forwarder },
    credentials: () => credentials,
    listen: async (handle) => {
      const { hostname, port } = new URL(url);
      const host = hostname.replace(/^\[|\]$/g, "");
      listener = await listenForMembers({ credentials, host, port: Number(port), machines: () => machines.list(), handle, protocol });
      return listener.server;
    },
    close: () => {
      clearTimeout(reporting);
      clearInterval(renewing);
      connections.close();
      forwarder.close();
    },
  };
}

/** A clock that differs more than this from that of the database is worth a warning, ms. */
const maxClockMs = 60_000;

/** Certificates have dates: machines whose clocks are far apart refuse each other. */
function warnOfClock(machines: Pick<MachineStore, "list">, own: number, log: Log): void {
  const row = machines.list().find(({ number }) => number === own);
  if (row === undefined) return;
  const aheadMs = row.readAt - (row.seenAt + row.silentMs);
  if (Math.abs(aheadMs) <= maxClockMs) return;
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  log(
    "warn",
    `the clock of this machine is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} that of the database: set it (timedatectl set-ntp true), or machines refuse each other's certificates`,
  );
}
