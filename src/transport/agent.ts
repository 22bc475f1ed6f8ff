import type { ClientRequestArgs } from "node:http";
import { Agent, type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { dial } from "./dial.ts";

/** Request options with the signal under a second name: Node removes `signal` before an agent gets the options. */
export interface PinnedRequestOptions extends RequestOptions {
  readonly dialSignal: AbortSignal;
}

type Created = (error: Error | null, socket: Duplex) => void;

/**
 * Gives requests only connections whose certificate was checked, and keeps them alive between requests. The base class would hand out a connection
 * before its handshake and let the first request wait in its buffer; this class hands it out afterwards.
 */
export class PinnedAgent extends Agent {
  readonly #pin: string | undefined;
  readonly #ca: string | undefined;

  constructor(options: { readonly pin: string | undefined; readonly ca: string | undefined }) {
    super({ keepAlive: true, maxCachedSessions: 0 });
    this.#pin = options.pin;
    this.#ca = options.ca;
  }

  override createConnection(options: ClientRequestArgs & Partial<PinnedRequestOptions>, created?: Created): undefined {
    const { host, port, dialSignal } = options;
    dial({
      host: host ?? "localhost",
      port: Number(port),
      ...(this.#pin === undefined ? {} : { pin: this.#pin }),
      ...(this.#ca === undefined ? {} : { ca: this.#ca }),
      ...(dialSignal === undefined ? {} : { signal: dialSignal }),
    }).then(
      (socket) => created?.(null, socket),
      // With an error the socket is ignored, but the type of Node's callback requires one.
      (error: Error) => (created as ((error: Error) => void) | undefined)?.(error),
    );
  }
}
