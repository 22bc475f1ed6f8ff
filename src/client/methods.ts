import type { Duplex, Readable } from "node:stream";
import type { DataOf, OperationId, operations, RequestOf } from "../contract/operations.ts";

type Part<T> = T extends undefined ? unknown : T;
type Optional<T, K extends keyof T> = Record<never, never> extends Pick<T, K> ? true : false;
/** One flat object. Optional fields may also be undefined, so that a field of one answer can be passed to the next call. */
type Flat<T> = { [K in keyof T]: Optional<T, K> extends true ? T[K] | undefined : T[K] };

/** The input of a method: path parameters, query and body of the operation as one object. Their names never collide. */
export type InputOf<Id extends OperationId> = Flat<
  Part<RequestOf<Id>["params"]> & Part<RequestOf<Id>["query"]> & Part<RequestOf<Id>["body"]>
>;

/** A download. Its bytes are a stream. */
export interface Download {
  readonly mediaType: string;
  readonly filename?: string;
  readonly body: Readable;
}

/** An endless answer: `for await` yields each item. Leaving the loop closes the connection. */
export type Stream<T> = AsyncIterable<T> & Disposable;

type AnswerOf<Id extends OperationId> = (typeof operations)[Id]["answer"];
type ItemOf<T> = T extends AsyncIterable<infer Item> ? Item : never;

/** The result of a method: `data` of the envelope, the raw connection of an upgrade, a Download, or a Stream of events. */
export type ResultOf<Id extends OperationId> =
  AnswerOf<Id> extends "upgrade"
    ? Duplex
    : AnswerOf<Id> extends "bytes"
      ? Download
      : AnswerOf<Id> extends "events"
        ? Stream<ItemOf<DataOf<Id>>>
        : DataOf<Id>;

export interface CallOptions {
  /** An abort rejects the call with the signal's reason and destroys an open stream. */
  readonly signal?: AbortSignal | undefined;
  /** Time-out in ms. Default: the operation's own time-out, or the one given to connect. 0: no limit. */
  readonly timeoutMs?: number | undefined;
  /** For a change: repeated calls with the same key and input run once and get the same answer, for 24 hours. */
  readonly idempotencyKey?: string | undefined;
}

/** One method per operation of API v1, named by its operation id. The input is optional if it has no required field. */
export type Methods = {
  readonly [Id in OperationId]: Record<never, never> extends InputOf<Id>
    ? (input?: InputOf<Id>, options?: CallOptions) => Promise<ResultOf<Id>>
    : (input: InputOf<Id>, options?: CallOptions) => Promise<ResultOf<Id>>;
};
