import { Failure } from "../../contract/errors.ts";

/** Maximum bytes of all bodies that are read or used at the same time. One user gets half of it. */
const maxBytes = 256 << 20;
/** Bodies up to this size may use `smallBytes` more, so that large uploads do not stop a user's other calls. */
const small = 64 << 10;
const smallBytes = 32 << 20;

/**
 * Bounds the memory of request bodies and of their answers. Bytes of a body count from their announcement, and those of an answer from its start, until the
 * client has the answer or has disconnected.
 */
export class BodyRoom {
  /** Bytes of each user; callers without a token are one user. */
  readonly #users = new Map<string | undefined, number>();
  #bytes = 0;

  /** Starts to count a body. */
  enter(user: string | undefined): BodyPlace {
    let bytes = 0;
    let isOpen = true;
    const add = (count: number) => {
      bytes += count;
      this.#bytes += count;
      const now = (this.#users.get(user) ?? 0) + count;
      if (now === 0) this.#users.delete(user);
      else this.#users.set(user, now);
    };
    return {
      grow: (to) => {
        if (to <= bytes || !isOpen) return;
        this.#refuse(user, to - bytes, to);
        add(to - bytes);
      },
      hold: (more) => {
        if (isOpen) add(more);
      },
      leave: () => {
        isOpen = false;
        add(-bytes);
      },
    };
  }

  #refuse(user: string | undefined, more: number, size: number): void {
    const extra = size <= small ? smallBytes : 0;
    const isFull = this.#bytes + more > maxBytes + extra;
    const isOwnFull = (this.#users.get(user) ?? 0) + more > maxBytes / 2 + extra / 2;
    if (!isFull && !isOwnFull) return;
    const whose = isOwnFull ? "your requests" : "all requests";
    const message = `the bodies of ${whose} that are not answered yet and their answers that are not read yet are too large together`;
    throw new Failure("overloaded", `${message}: read an answer, or wait for one`, { retryAfter: 5 });
  }
}

export interface BodyPlace {
  /** Counts `to` bytes in all for this body. Throws overloaded. */
  grow(to: number): void;
  /** Counts bytes of the answer. They are never refused, but the next bodies are while clients do not read their answers. */
  hold(more: number): void;
  /** Ends the count. */
  leave(): void;
}
