import { createHash, randomBytes } from "node:crypto";
import { Failure } from "../../contract/errors.ts";
import type { Clock } from "../common/clock.ts";
import { Elsewhere } from "../common/elsewhere.ts";
import { RecentMap } from "../common/recent-map.ts";
import { idMark, machineOfId } from "../store/machines.ts";
import type { Store } from "../store/store.ts";

const minuteMs = 60_000;
interface TicketLimits {
  readonly lifetimeMs?: number;
  /** Maximum tickets of one session in a minute. */
  readonly maxPerMinute?: number;
}

interface Ticket<T> {
  readonly session: string;
  readonly expires: number;
  readonly grant: T;
}

interface TicketParts {
  readonly clock: Clock;
  readonly store: Pick<Store, "shared">;
}

/** One-time tickets: 64 lowercase hexadecimal characters, valid for 30 s by default and for the session that requested them. Only their hash is stored. */
export class Tickets<T> {
  readonly #clock: Clock;
  readonly #store: TicketParts["store"];
  readonly #lifetimeMs: number;
  readonly #maxPerMinute: number;
  readonly #tickets = new RecentMap<Ticket<T>>(10_000);
  /** Number of tickets of a session in the current minute. */
  readonly #issued = new RecentMap<{ readonly since: number; count: number }>(10_000);

  constructor({ clock, store }: TicketParts, { lifetimeMs = 30_000, maxPerMinute = 120 }: TicketLimits = {}) {
    this.#clock = clock;
    this.#store = store;
    this.#lifetimeMs = lifetimeMs;
    this.#maxPerMinute = maxPerMinute;
  }

  /** Throws rate_limited if the session opens too many streams: each uses a connection to the host. */
  issue(session: string, grant: T): string {
    this.#count(session);
    const own = this.#store.shared?.machines.own;
    const machine = own === undefined ? "" : idMark(own);
    const ticket = `${machine}${randomBytes(32).toString("hex").slice(machine.length)}`;
    this.#tickets.set(hashOf(ticket), { session, expires: this.#clock.now() + this.#lifetimeMs, grant });
    return ticket;
  }

  /**
   * Redeems a ticket. If `session` is undefined, any holder of the ticket may redeem it. Throws browser_token_invalid for a ticket that is unknown,
   * used, expired, malformed, or of another session; Elsewhere for a ticket of another machine.
   */
  redeem(ticket: string, session: string | undefined): T {
    this.#refuseElsewhere(ticket);
    const hash = hashOf(ticket);
    const known = /^[0-9a-f]{64}$/.test(ticket) ? this.#tickets.get(hash) : undefined;
    // A failed attempt also consumes the ticket: if another session has it, it is no longer secret.
    this.#tickets.delete(hash);
    if (known === undefined || (session !== undefined && known.session !== session) || this.#clock.now() >= known.expires) {
      throw new Failure("browser_token_invalid", "the ticket is unknown, used, expired, or of another session");
    }
    return known.grant;
  }

  /** Returns the result of redeem without consuming the ticket; undefined if the ticket is not valid. */
  peek(ticket: string): T | undefined {
    const known = this.#tickets.get(hashOf(ticket));
    return known === undefined || this.#clock.now() >= known.expires ? undefined : known.grant;
  }

  #refuseElsewhere(ticket: string): void {
    const machine = machineOfId(this.#store.shared?.machines, ticket);
    if (machine !== undefined) throw new Elsewhere(machine);
  }

  #count(session: string): void {
    const now = this.#clock.now();
    const last = this.#issued.get(session);
    const minute = last === undefined || now - last.since >= minuteMs ? { since: now, count: 0 } : last;
    if (minute.count >= this.#maxPerMinute) {
      const retryAfter = Math.ceil((minute.since + minuteMs - now) / 1000);
      throw new Failure("rate_limited", `more than ${this.#maxPerMinute} tickets in a minute`, { retryAfter });
    }
    minute.count += 1;
    this.#issued.set(session, minute);
  }
}

function hashOf(ticket: string): string {
  return createHash("sha256").update(ticket).digest("hex");
}
