import type { Duplex, Readable } from "node:stream";
import type { DataOf, OperationId, operations, RequestOf } from "../contract/operations.ts";

type Part<T> = T extends undefined ? unknown : T;
type Optional<T, K extends keyof T> = Record<never, never> extends Pick<T, K> ? true : false;
/** One flat object. What may be left out may also be undefined, so that a field of one answer can be handed on to the next call. */
type Flat<T> = { [K in keyof T]: Optional<T, K> extends true ? T[K] | undefined : T[K] };

/** What a method takes: the operation's path parameters, query and body as one object (their names never meet). */
export type InputOf<Id extends OperationId> = Flat<
  Part<RequestOf<Id>["params"]> & Part<RequestOf<Id>["query"]> & Part<RequestOf<Id>["body"]>
>;

/** A download: its bytes as they come. */
export interface Download {
  readonly mediaType: string;
  readonly filename?: string;
  readonly body: Readable;
}

/** An answer without end: for await gives each item; leaving the loop closes the connection. */
export type Stream<T> = AsyncIterable<T> & Disposable;

type AnswerOf<Id extends OperationId> = (typeof operations)[Id]["answer"];
type ItemOf<T> = T extends AsyncIterable<infer Item> ? Item : never;

/** What a method answers: `data` of the envelope, the raw connection of an upgrade, a Download, or a Stream of events. */
export type ResultOf<Id extends OperationId> =
  AnswerOf<Id> extends "upgrade"
    ? Duplex
    : AnswerOf<Id> extends "bytes"
      ? Download
      : AnswerOf<Id> extends "events"
        ? Stream<ItemOf<DataOf<Id>>>
        : DataOf<Id>;

export interface CallOptions {
  /** Aborting rejects with the signal's reason; an open stream is destroyed. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds; default: the operation's own time-out, or the one given to connect. 0: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Of a change: the same key with the same input is done once, and answers the same, for 24 hours. */
  readonly idempotencyKey?: string | undefined;
}

/** One method per operation of API v1, by its operation id. The input may be left out where nothing in it is required. */
export type Methods = {
  readonly [Id in OperationId]: Record<never, never> extends InputOf<Id>
    ? (input?: InputOf<Id>, options?: CallOptions) => Promise<ResultOf<Id>>
    : (input: InputOf<Id>, options?: CallOptions) => Promise<ResultOf<Id>>;
};
