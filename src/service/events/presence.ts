import type { Caller } from "../common/call.ts";
import { rightOn } from "../sessions/rights.ts";
import type { LabRecord } from "../store/store.ts";

/** Maximum number of names in one event. */
const maxNames = 50;

export interface PresenceParts {
  /** The record of a lab. Only users with a right on it are named. */
  readonly recordOf: (lab: string) => LabRecord | undefined;
  /** Called with the users that look at a lab, sorted. */
  readonly changed: (lab: string, users: readonly string[]) => void;
}

/** Which users look at which lab: those with an open event stream of this lab that asks for presence. */
export class Presence {
  readonly #parts: PresenceParts;
  /** The callers of the open streams, by lab. */
  readonly #streams = new Map<string, Set<Pick<Caller, "user" | "role">>>();

  constructor(parts: PresenceParts) {
    this.#parts = parts;
  }

  /** Returns the function that ends the presence of one stream. All readers of the lab get the new list, also the entering one. */
  enter(lab: string, { user, role }: Pick<Caller, "user" | "role">): () => void {
    const stream = { user, role };
    const streams = this.#streams.get(lab) ?? new Set();
    this.#streams.set(lab, streams.add(stream));
    this.#tell(lab);
    return () => {
      if (!streams.delete(stream)) return;
      if (streams.size === 0) this.#streams.delete(lab);
      else if (![...streams].some((one) => one.user === user)) this.#tell(lab);
    };
  }

  #tell(lab: string): void {
    const record = this.#parts.recordOf(lab);
    if (record === undefined) return;
    const here = [...(this.#streams.get(lab) ?? [])].filter((one) => rightOn(record, one) !== undefined).map(({ user }) => user);
    this.#parts.changed(lab, [...new Set(here)].sort().slice(0, maxNames));
  }
}
