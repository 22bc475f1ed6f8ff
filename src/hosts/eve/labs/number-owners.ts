import type { EveAccount } from "../account/account.ts";
import type { NodeStatus } from "../read/lab-read.ts";

let epochs = 0;

/** Unique among all sessions: a read of an earlier session proves nothing to a later one. */
function newEpoch(): number {
  epochs += 1;
  return epochs;
}

/**
 * Records which lab's node runs under each number of a user, as far as one session with the host can know. The host has one session per user, so
 * during the session nobody else starts or stops nodes for that user. A node that this session started belongs to its lab until it is seen down.
 */
export class NumberOwners {
  /** Number → path of the lab. */
  readonly #owners = new Map<number, string>();
  /** "number path": after a stop for this lab the number still ran, so that something else has it. */
  readonly #strangers = new Set<string>();
  /** Numbers that are being started: that they are down proves nothing. */
  readonly #starting = new Map<number, string>();
  /** Numbers that no other lab had when they were seen up: this session did not start them. */
  readonly #assumed = new Set<number>();
  /** Numbers that this session stopped, or saw down, and has not started since: a process there is no lab's node. */
  readonly #idle = new Set<number>();
  /** Numbers that this session started: a start whose outcome is unknown may still bring the node up. */
  readonly #tried = new Set<number>();
  #epoch = newEpoch();

  /** A mark, taken before a read of nodes and passed with its result: if a start or stop happened meanwhile, the result proves nothing. */
  mark(): number {
    return this.#epoch;
  }

  /** Learns from a read: a number that is down belongs to nobody, and only this session can start its node. */
  see(nodes: readonly Pick<NodeStatus, "id" | "status">[], mark: number): void {
    if (mark !== this.#epoch) return;
    for (const { id, status } of nodes) {
      if (status >= 2 || this.#starting.has(id)) continue;
      this.#clear(id);
      if (!this.#tried.has(id)) this.#idle.add(id);
    }
  }

  /** Returns the path of the lab that runs the number, `undefined` if it is not known. */
  of(id: number): string | undefined {
    return this.#owners.get(id);
  }

  starting(id: number, path: string): void {
    this.#epoch = newEpoch();
    this.#clear(id);
    this.#idle.delete(id);
    this.#tried.add(id);
    this.#owners.set(id, path);
    this.#starting.set(id, path);
  }

  /** Records that the start has ended, with or without success. */
  started(id: number): void {
    this.#epoch = newEpoch();
    this.#starting.delete(id);
  }

  /** Records that this session stopped the lab's node and saw its number down. */
  stopped(id: number, path: string): void {
    if (this.#starting.has(id) || (this.#owners.get(id) ?? path) !== path) return;
    this.#epoch = newEpoch();
    this.#clear(id);
    this.#idle.add(id);
  }

  /** Returns whether this session started the number for this lab. */
  hasStarted(id: number, path: string): boolean {
    return this.#owners.get(id) === path && !this.#assumed.has(id);
  }

  isStarting(id: number, path: string): boolean {
    return this.#starting.get(id) === path;
  }

  /** No other lab has the number. */
  take(id: number, path: string): void {
    this.#owners.set(id, path);
    this.#assumed.add(id);
  }

  /** Records that the number still runs after a stop for this lab: it belongs to something else, unless this session started the node itself. */
  stopFailed(id: number, path: string): void {
    if (this.#assumed.has(id)) this.disown(id, path);
  }

  /** Records that the process under the number is not this lab's node. */
  disown(id: number, path: string): void {
    if (this.#owners.get(id) === path) this.#owners.delete(id);
    this.#strangers.add(`${id} ${path}`);
  }

  isStranger(id: number, path: string): boolean {
    return this.#idle.has(id) || this.#strangers.has(`${id} ${path}`);
  }

  /**
   * Forgets numbers of a lab that was deleted or renumbered. @param ids the numbers that it no longer has. Absent: all
   */
  forget(path: string, ids?: Iterable<number>): void {
    this.#epoch = newEpoch();
    const all = [...this.#owners.keys(), ...[...this.#strangers].map((one) => Number.parseInt(one, 10))];
    for (const id of ids ?? all) {
      if (this.#owners.get(id) === path) this.#owners.delete(id);
      this.#strangers.delete(`${id} ${path}`);
    }
  }

  #clear(id: number): void {
    this.#owners.delete(id);
    this.#assumed.delete(id);
    for (const one of this.#strangers) if (one.startsWith(`${id} `)) this.#strangers.delete(one);
  }
}

/** The owners of each account's numbers, kept until its session with the host ends. */
export class OwnersByAccount {
  readonly #known = new WeakMap<EveAccount, { readonly generation: number; readonly owners: NumberOwners }>();

  of(account: EveAccount): NumberOwners {
    const { generation } = account;
    const known = this.#known.get(account);
    if (known?.generation === generation) return known.owners;
    const owners = new NumberOwners();
    this.#known.set(account, { generation, owners });
    return owners;
  }
}
