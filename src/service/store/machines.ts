import type { SharedImage } from "../../hosts/host-images.ts";
import { spreadVnis } from "../../intent/lab/lab.ts";
/** The machines of a fleet: services on one database that pass calls on to each other. */

/** Size and load of a machine, as it reports them. */
export interface MachineFacts {
  /** Release of its service. */
  readonly version: string;
  readonly processors: number;
  /** Average number of running processes in the last minute. */
  readonly load: number;
  /** MiB. */
  readonly memory: number;
  /** MiB that new nodes may use. */
  readonly availableMemory: number;
  /** Number of its protocol between machines. Absent: a release that has none, which is 1. */
  readonly protocol?: number;
  /** Its address for links between machines, and the largest MTU of such a link. Absent: it has no parts of spread labs. */
  readonly underlay?: { readonly address: string; readonly mtu: number };
  /** false: it only passes calls on (`--host none`), and `availableMemory` is 0, so that releases which do not know this field place no labs there. */
  readonly runsLabs?: boolean;
  /** Number of labs of other machines that have a part on it. Absent: none. */
  readonly parts?: number;
  /** The images that other machines may fetch from it. */
  readonly images?: readonly SharedImage[];
}

export type MachineState = "active" | "cordoned";

/** A machine that has reported nothing for this time does not answer, ms. */
export const silentAfterMs = 9_000;

/** A machine of the fleet. Times are ms since the epoch, by the clock of the database. */
export interface MachineRow {
  /** Unique for ever, from 1. In the certificate of the machine, and in the ids of its tickets and captures. */
  readonly number: number;
  readonly name: string;
  /** Address at which other machines reach it, such as https://192.0.2.7:8444. */
  readonly url: string;
  /** cordoned: it gets no new labs. */
  readonly state: MachineState;
  readonly labels: Readonly<Record<string, string>>;
  readonly facts: MachineFacts;
  readonly joinedAt: number;
  /** Its last report. */
  readonly seenAt: number;
  /** Time from its last report until this row was read. */
  readonly silentMs: number;
  /** When this row was read, by the clock of this service. */
  readonly readAt: number;
  /** Its labs go to other machines. Absent: they stay. */
  readonly drain?: MachineDrain;
}

/** Whether labs run on a machine, and not only calls about them arrive there (`--host none`). */
export function runsLabs({ facts }: Pick<MachineRow, "facts">): boolean {
  return facts.runsLabs !== false;
}

/** The end of a machine's service in the fleet, which an admin has asked for. */
export interface MachineDrain {
  /** Running labs are stopped, moved and started, too. */
  readonly stopLabs: boolean;
  readonly by: string;
}

/** A machine that joins, or starts again. */
export interface JoiningMachine extends Pick<MachineRow, "name" | "url" | "facts"> {
  /** SHA-256 of the id of its one-time token, hex. Absent: it is a machine of the fleet already. */
  readonly token?: string;
}

/** Absent: it stays as it is. `state: active` ends a drain. */
export interface MachineChange {
  readonly state?: MachineState;
  readonly labels?: Readonly<Record<string, string>>;
  readonly drain?: MachineDrain;
}

/** A lab that another machine hands over. */
export interface HandedLab {
  /** Number of that machine. */
  readonly from: number;
  readonly job: string;
  /** Of the job. */
  readonly result: unknown;
}

/** Certificate of the fleet's authority, and its key, which only machines of the fleet can read. */
export interface FleetAuthority {
  /** PEM. */
  readonly certificate: string;
  readonly sealedKey: string;
}

/** From here on, VNIs are those of links between machines. */
export const firstSpreadVni = spreadVnis.first;

/** Letters at the start of an id that a machine of a fleet makes: its number, hexadecimal. */
const markLetters = 4;

/** The start of the ids of a machine. */
export function idMark(machine: number): string {
  return machine.toString(16).padStart(markLetters, "0");
}

/** The other machine of the fleet whose mark a hexadecimal id has; undefined: none has it. */
export function machineOfId(machines: MachineStore | undefined, id: string): number | undefined {
  if (machines?.own === undefined || !/^[0-9a-f]+$/.test(id)) return undefined;
  const marked = Number.parseInt(id.slice(0, markLetters), 16);
  return marked !== machines.own && machines.list().some(({ number }) => number === marked) ? marked : undefined;
}

/** The machines, in memory and in the database. */
export interface MachineStore {
  /** This machine, once it has joined. */
  readonly own: number | undefined;
  /** Sorted by name, as read at the last report of this machine; empty without a fleet. */
  list(): readonly MachineRow[];
  authority(): Promise<FleetAuthority | undefined>;
  /** Begins a fleet with this authority. Returns false if there is one already. */
  found(authority: FleetAuthority): Promise<boolean>;
  /** The machines in the database, sorted by name, also for a service outside the fleet. */
  members(): Promise<readonly (Pick<MachineRow, "number" | "name" | "url" | "silentMs"> & { readonly isOwn: boolean })[]>;
  /** Whether this state directory is one of the fleet's machines. */
  hasJoined(): Promise<boolean>;
  /** Adds this machine with its token, which is used up, or updates it. Throws an Error for the user. */
  join(machine: JoiningMachine): Promise<number>;
  /** Reports that this machine is there, and reads the others. */
  report(facts: MachineFacts): Promise<void>;
  /** Returns false if there is no such machine. */
  set(name: string, change: MachineChange): Promise<boolean>;
  /** Removes a machine; its labs may be taken by others. Returns false if there is no such machine. */
  remove(name: string): Promise<boolean>;
  /** @param sealed what the holder of the token needs to join; nobody else can read it */
  putToken(hash: string, sealed: string, lifetimeMs: number): Promise<{ readonly expiresAt: number }>;
  /** The text that `putToken` stored for an unused token. */
  sealedBy(hash: string): Promise<string | undefined>;
  /**
   * The other machine that owns a lab; undefined: this one does, or nobody.
   * @param isRecorded whether the lab has a record: a lab without one has an owner only while its first change runs
   */
  ownerOf(lab: string, isRecorded: boolean): Promise<MachineRow | undefined>;
  /** Whether a lab with a record belongs to no machine of the fleet: its machine was removed. */
  isOrphaned(lab: string): Promise<boolean>;
  /** The number of the other machine that owns a lab with a record, from memory; undefined: this one does. */
  elsewhere(lab: string): number | undefined;
  /** The number of the machine of the fleet that owns a lab with a record, from memory; undefined: none does. */
  knownOwner(lab: string): number | undefined;
  /** The labs of other machines whose owners were read since the last call: this machine may have lost some of them. */
  takeMoved(): readonly string[];
  /** The machine that was returned does not own the lab any more: the next `ownerOf` reads the database. */
  forgetOwner(lab: string): void;
  /** Gives a lab that does not exist yet to a machine, unless another one, which still takes labs, got it less than `keptMs` ago. Returns the machine that has it. */
  place(lab: string, machine: number, keptMs: number): Promise<number>;
  /** Labs with a record of machines that do not answer and whose services could not renew their leases. A service that was stopped has not lost its labs. */
  lostLabs(): Promise<readonly string[]>;
  /** Takes a lab of such a machine over. Returns false if another machine was faster, or its own machine is back. */
  takeOver(lab: string): Promise<boolean>;
  /**
   * Takes a lab that the running job of another machine hands over, and ends that job as done: one transaction, after which this machine owns the lab. Returns
   * false if the job has ended or the machine does not own the lab any more: nothing was changed.
   */
  takeHanded(lab: string, handed: HandedLab): Promise<boolean>;
  /** Returns numbers (VNIs) for links between machines, which no other lab has. */
  takeVnis(count: number): Promise<readonly number[]>;
  /** The numbers of the machines that own labs, by lab: all of them are read from the database. */
  owners(): Promise<ReadonlyMap<string, number>>;
}
