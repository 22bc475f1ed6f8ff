import { setTimeout as wait } from "node:timers/promises";
import type { KeyedQueue } from "../../../base/keyed-queue.ts";
import type { EveAccount } from "../account/account.ts";
import type { EveEdition } from "../account/edition.ts";
import type { LabReader } from "../read/lab-reader.ts";
import type { CatalogueReader, EveCatalogue } from "../templates/catalogue.ts";
import type { InterfaceLists } from "../templates/interface-list.ts";
import type { OwnersByAccount } from "./number-owners.ts";
import type { OtherLabs } from "./other-labs.ts";
import type { OtherUsers } from "./other-users.ts";

/** State that all sessions with one host share. */
export interface EveWorld {
  /** The address of the host's consoles: the address of its web interface. */
  readonly address: string;
  readonly edition: EveEdition;
  readonly catalogue: CatalogueReader;
  readonly reader: LabReader;
  readonly interfaces: InterfaceLists;
  readonly others: OtherLabs;
  /** Runs one change of a lab at a time. */
  readonly changes: KeyedQueue;
  /** Runs one write of a lab's file at a time, so that a lab can be locked between the steps of a change. */
  readonly writes: KeyedQueue;
  readonly owners: OwnersByAccount;
  /** The accounts that are signed in at this process, by user. */
  readonly accounts: ReadonlyMap<string, EveAccount>;
  readonly users: OtherUsers;
  readonly timing: EveTiming;
}

export interface EveTiming {
  /** Interval of polls while nodes start or stop, ms. */
  readonly pollMs: number;
  /** How long a node may take to be up or down after the host took the call, ms. */
  readonly patienceMs: number;
  /**
   * How long a node of Community may run on after the host answered its stop, ms. The host kills the process, and recorded hosts showed the node down within
   * 1 s: one that runs on for longer hangs.
   */
  readonly goneMs: number;
  /** How long a node may have no process after the host answered that it has started, ms, on top of the node's own delay. */
  readonly comeUpMs: number;
  /** Time-out of calls that start, stop or wipe, ms. */
  readonly powerMs: number;
  /** How long to wait for a node that may be another lab's, or whose start is not finished, ms. */
  readonly settleMs: number;
  /** Maximum age of the data about other labs and users in a status, ms. */
  readonly othersMs: number;
}

export const defaultTiming: EveTiming = {
  pollMs: 500,
  patienceMs: 120_000,
  goneMs: 30_000,
  comeUpMs: 10_000,
  powerMs: 300_000,
  settleMs: 10_000,
  othersMs: 10_000,
};

/** One user's view of the world. */
export interface EvePlace {
  readonly world: EveWorld;
  readonly account: EveAccount;
  readonly catalogue: EveCatalogue;
  /** The user's pod number on the host, from which ports and MAC addresses are computed. 0 if the host does not report it. */
  readonly pod: number;
}

export async function pause(world: EveWorld, signal?: AbortSignal): Promise<void> {
  await wait(world.timing.pollMs, undefined, signal === undefined ? {} : { signal });
}
