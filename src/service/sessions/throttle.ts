import { createHash } from "node:crypto";
import { Failure } from "../../contract/errors.ts";
import type { Clock } from "../common/clock.ts";
import { RecentMap } from "../common/recent-map.ts";
import { LoginPace } from "./login-pace.ts";

/** The wrong passwords that still count for a name, an address or both. */
interface Score {
  failed: number;
  /** Time of the last decay, ms since the epoch. */
  since: number;
}

/** One name from one address. */
interface Pair extends Score {
  /** The earliest time of the next try, ms since the epoch. */
  until: number;
  /** Number of running tries. */
  running: number;
  readonly waiting: (() => void)[];
}

export interface ThrottleLimits {
  /** Number of wrong passwords for a name from one address after which the next attempt must wait. */
  readonly pair: number;
  /** Number of wrong passwords from one address, for any names, after which attempts from there are delayed. */
  readonly address: number;
  /** Number of wrong passwords for one name, from any addresses, after which attempts for it are delayed. */
  readonly name: number;
  /** Interval between two tries of an address over its limit, ms. */
  readonly addressSpacingMs: number;
  readonly nameSpacingMs: number;
}

const defaults: ThrottleLimits = { pair: 5, address: 20, name: 100, addressSpacingMs: 1_000, nameSpacingMs: 5_000 };

const maxWaitMs = 60_000;
/** One wrong password is forgotten after each such interval, ms. */
const decayMs = 60_000;
/** Maximum count of wrong passwords, so that all are forgotten after this number of decays. */
const maxOverLimit = 7;
/** Maximum number of logins of one address that the host checks at the same time: a check costs time and memory. */
const maxAtOnce = 4;
const maxKept = 10_000;

/**
 * Slows down guessing, without ever refusing a correct password because of other names.
 *
 * - A name from one address: after 5 wrong passwords the next try must wait 1 s, then 2, 4 … up to 60 s (rate_limited until then).
 * - An address over its limit (many names tried from one place): its tries run 1 s apart. They wait and are not refused.
 * - A name over its limit (tried from many places): its tries run 5 s apart, except from an address where it has signed in before.
 * - The newest try goes first. One wrong password is forgotten each minute. Unknown names are treated like existing names.
 */
export class LoginThrottle {
  readonly #clock: Clock;
  readonly #limits: ThrottleLimits;
  readonly #pairs = new RecentMap<Pair>(maxKept);
  readonly #addresses = new RecentMap<Score & { readonly pace: LoginPace }>(maxKept);
  readonly #names = new RecentMap<Score & { readonly pace: LoginPace }>(maxKept);
  /** Pairs that have signed in. Only a correct password adds a pair, so that a flood of tries cannot displace them. */
  readonly #known = new RecentMap<true>(maxKept);

  /** The wrong API tokens of an address. */
  readonly #tokens = new RecentMap<Score>(maxKept);

  constructor(clock: Clock, limits: Partial<ThrottleLimits> = {}) {
    this.#clock = clock;
    this.#limits = { ...defaults, ...limits };
  }

  /**
   * Runs `check` in its turn. `check` throws invalid_credentials for a wrong password; other errors do not count as one. Throws
   * rate_limited, the signal's reason, and the errors of `check`.
   */
  async attempt<T>(user: string, address: string, signal: AbortSignal, check: () => Promise<T>): Promise<T> {
    const place = networkOf(address);
    const [pairKey, nameKey] = [hashOf(`${place} ${user}`), hashOf(user)];
    const pair = await this.#enter(pairKey, signal);
    let failed = false;
    try {
      const ofAddress = this.#paced(this.#addresses, place, maxAtOnce, this.#limits.addressSpacingMs);
      const ofName = this.#paced(this.#names, nameKey, Number.POSITIVE_INFINITY, this.#limits.nameSpacingMs);
      const nameSpaced = () => !this.#known.get(pairKey) && this.#decayed(ofName).failed >= this.#limits.name;
      const addressSpaced = () => this.#decayed(ofAddress).failed >= this.#limits.address;
      const checked = async () => {
        try {
          return await check();
        } catch (error) {
          failed = error instanceof Failure && error.code === "invalid_credentials";
          if (failed) {
            this.#fail(ofAddress, this.#limits.address);
            this.#fail(ofName, this.#limits.name);
          }
          throw error;
        }
      };
      // The address's queue is the inner one: its few places are only for running tries.
      const result = await ofName.pace.run(signal, nameSpaced, () => ofAddress.pace.run(signal, addressSpaced, checked));
      this.#known.set(pairKey, true);
      pair.failed = 0;
      return result;
    } finally {
      this.#leave(pair, failed);
    }
  }

  /**
   * Counts an unknown API token. Throws rate_limited from an address with as many of them as wrong passwords slow down its logins. The caller knows by then that
   * the token is unknown: jobs behind the same address with a valid token are never refused.
   */
  wrongToken(address: string): void {
    const place = networkOf(address);
    const score = this.#tokens.get(place) ?? { failed: 0, since: this.#clock.now() };
    this.#tokens.set(place, score);
    const isOver = this.#decayed(score).failed >= this.#limits.address;
    this.#fail(score, this.#limits.address);
    if (!isOver) return;
    const retryAfter = Math.max(1, Math.ceil((score.since + decayMs - this.#clock.now()) / 1_000));
    throw new Failure("rate_limited", "too many unknown API tokens from this address; try again later", { retryAfter });
  }

  /** Limits the simultaneous tries of a pair to the wrong passwords that it has left. Others wait for the outcome. */
  async #enter(key: string, signal: AbortSignal): Promise<Pair> {
    const pair = this.#pairs.get(key) ?? { failed: 0, since: this.#clock.now(), until: 0, running: 0, waiting: [] };
    // Set again as the most recent entry: the map drops the oldest entries.
    this.#pairs.set(key, pair);
    for (;;) {
      const wait = pair.until - this.#clock.now();
      if (signal.aborted || wait > 0) {
        // The next waiting try checks for itself whether it may begin.
        pair.waiting.shift()?.();
        signal.throwIfAborted();
        throw tooMany(Math.ceil(wait / 1000));
      }
      if (pair.running < Math.max(1, this.#limits.pair - this.#decayed(pair).failed)) break;
      await new Promise<void>((resolve) => pair.waiting.push(resolve));
    }
    pair.running += 1;
    return pair;
  }

  #leave(pair: Pair, failed: boolean): void {
    pair.running -= 1;
    if (failed) {
      this.#fail(pair, this.#limits.pair);
      const over = pair.failed - this.#limits.pair;
      if (over >= 0) pair.until = this.#clock.now() + Math.min(maxWaitMs, 1000 * 2 ** over);
    }
    pair.waiting.shift()?.();
  }

  #paced<S extends Score & { readonly pace: LoginPace }>(map: RecentMap<S>, key: string, atOnce: number, spacingMs: number): S {
    const score = map.get(key) ?? ({ failed: 0, since: this.#clock.now(), pace: new LoginPace(atOnce, spacingMs) } as S);
    map.set(key, score);
    return score;
  }

  #fail(score: Score, limit: number): void {
    this.#decayed(score);
    score.failed = Math.min(score.failed + 1, limit + maxOverLimit);
  }

  #decayed(score: Score): Score {
    const now = this.#clock.now();
    const steps = Math.max(0, Math.floor((now - score.since) / decayMs));
    score.failed = Math.max(0, score.failed - steps);
    // The clock may have been set back.
    score.since = score.failed === 0 ? now : Math.min(now, score.since + steps * decayMs);
    return score;
  }
}

function tooMany(retryAfter: number): Failure {
  return new Failure("rate_limited", "too many wrong passwords for this name; try again later", { retryAfter });
}

/** A client with one IPv6 address usually controls 2^64 of them. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [head = "", tail] = address.split("%")[0]!.split("::");
  const groups = head === "" ? [] : head.split(":");
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length);
  return [...groups, ...Array.from({ length: missing }, () => "0")].slice(0, 4).join(":");
}

/** A name may be long. */
function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
