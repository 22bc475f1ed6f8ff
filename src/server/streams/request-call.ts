import type { FastifyRequest } from "fastify";
import type { Call } from "../../service/common/call.ts";
import type { PlacementFacts } from "../../service/common/elsewhere.ts";
import { forwardedOf } from "../forwarding/forwarded.ts";
import type { RunningCall } from "./running-calls.ts";

/** The call of a request for the service, with the values that its deadline needs. */
export class RequestCall implements Call {
  readonly requestId: string;
  readonly address: string;
  readonly cookie?: string;
  readonly idempotencyKey?: string;
  readonly respondAsync: boolean;
  readonly isForwarded: boolean;
  readonly placement?: PlacementFacts;
  /** The header Prefer, or an empty text. */
  readonly prefer: string;
  readonly #running: RunningCall;
  readonly #onJob: () => void;
  #job: string | undefined;
  #lab: string | undefined;

  constructor(
    { id, raw, socket, headers }: FastifyRequest,
    running: RunningCall,
    { cookie, onJob }: { readonly cookie: string | undefined; readonly onJob: () => void },
  ) {
    const key = headers["idempotency-key"];
    this.requestId = id;
    const forwarded = forwardedOf(raw);
    this.isForwarded = forwarded !== undefined;
    if (forwarded?.placement !== undefined) this.placement = forwarded.placement;
    this.address = forwarded?.address ?? socket.remoteAddress ?? "";
    if (cookie !== undefined) this.cookie = cookie;
    if (typeof key === "string") this.idempotencyKey = key;
    this.prefer = String(headers.prefer ?? "");
    this.respondAsync = this.prefer !== "" && /(^|,)\s*respond-async\s*(,|;|$)/i.test(this.prefer);
    this.#running = running;
    this.#onJob = onJob;
  }

  get signal(): AbortSignal {
    return this.#running.signal;
  }

  /** The job of the change, if the call has started one. */
  get job(): string | undefined {
    return this.#job;
  }

  /** The path of the lab that the call is about, if it is about one. */
  get lab(): string | undefined {
    return this.#lab;
  }

  readonly onLab = (path: string): void => {
    this.#lab = path;
  };

  /** A function of its own, because use cases call it without the call. */
  readonly started = (id: string): void => {
    this.#job = id;
    this.#onJob();
  };
}
