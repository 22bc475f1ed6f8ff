import { createHash } from "node:crypto";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import { canonicalText } from "../../engine/shared/canonical.ts";
import type { Call, Caller } from "../common/call.ts";
import { badRequest } from "../common/refusals.ts";
import type { ClockPart, JobsPart, StorePart } from "../context/parts.ts";
import type { JobKeyRow } from "../store/store.ts";

/** How long a key refers to its job. */
const keepMs = 24 * 3_600_000;
const maxLetters = 255;

interface Once {
  readonly request: string;
  readonly answer: Promise<unknown>;
}

/**
 * Runs a change that is sent twice with the same Idempotency-Key only once: the second call gets the answer of the first, even if the first has ended
 * or its client has disconnected. A call that failed before its job began has changed nothing and is forgotten.
 */
export class Idempotency {
  readonly #context: StorePart & ClockPart & JobsPart;
  /** Running calls, by user and key. */
  readonly #running = new Map<string, Once>();
  /** Number of calls with a key that have ended. */
  #ended = 0;

  constructor(context: StorePart & ClockPart & JobsPart) {
    this.#context = context;
  }

  /** Throws bad_request for a key with characters that a header must not contain, or that was used with another request. */
  async once<Answer>(
    caller: Caller,
    call: Call,
    request: { readonly operation: string; readonly body: unknown },
    run: (call: Call) => Promise<Answer>,
  ): Promise<Answer | JobStarted> {
    const { idempotencyKey: key } = call;
    if (key === undefined) return run(call);
    if (key === "" || key.length > maxLetters || !/^[\x20-\x7e]+$/.test(key)) {
      throw badRequest("Idempotency-Key", `the key is 1 to ${maxLetters} printable ASCII characters`);
    }
    const { store, clock, jobs } = this.#context;
    const hash = createHash("sha256")
      // An API token must not get the answer of a call that it may not make.
      .update(`${request.operation}\n${canonicalText(request.body)}${caller.apiToken === undefined ? "" : `\n${caller.apiToken.id}`}`)
      .digest("hex");
    const same = (known: string) => {
      if (known !== hash) throw badRequest("Idempotency-Key", "the key was used for another request");
    };
    await store.jobs.purgeKeys(clock.now() - keepMs);

    const kept = await this.#find(caller.user, key);
    if (kept !== undefined) {
      same(kept.request);
      if (call.respondAsync) return { job: kept.job };
      return (await jobs.outcome(kept.job, kept.answer)) as Answer;
    }
    const name = `${caller.user}\n${key}`;
    const twin = this.#running.get(name);
    if (twin !== undefined) {
      same(twin.request);
      return twin.answer as Promise<Answer>;
    }
    const answer = run({
      ...call,
      // A getter of the server's calls, which the spread does not copy.
      signal: call.signal,
      started: async (job) => {
        await call.started?.(job);
        await store.jobs.insertKey({ user: caller.user, key, request: hash, job, createdAt: clock.now() });
      },
    });
    this.#running.set(name, { request: hash, answer });
    try {
      return await answer;
    } finally {
      this.#running.delete(name);
      this.#ended += 1;
    }
  }

  /** Returns the job of a key. Reads again if a call ended meanwhile: it may have been the first call with this key. */
  async #find(user: string, key: string): Promise<JobKeyRow | undefined> {
    for (;;) {
      const before = this.#ended;
      const found = await this.#context.store.jobs.findKey(user, key);
      if (found !== undefined || before === this.#ended) return found;
    }
  }
}
