import { LabwrightError } from "../../../client/browser.ts";
import { call } from "../../service/api.ts";
import type { LinkRate, TrafficLine, TrafficPacket, TrafficSample } from "./traffic-packet.ts";

/** The part of a lab whose traffic is watched. */
export interface TrafficScope {
  readonly lab: string;
  /** Names of traffic filters; absent: every packet. */
  readonly filters?: readonly string[];
  /** Key of a node: watches only its links. */
  readonly node?: string;
  /** Key of a link: watches only this link. */
  readonly link?: string;
  /** The rates of all links instead of packets. */
  readonly rates?: boolean;
}

export type WatchState =
  | { readonly kind: "connecting" }
  | { readonly kind: "open" }
  | { readonly kind: "broken"; readonly retryMs: number }
  /** The watch is not retried: a retry would be refused, too. */
  | { readonly kind: "refused"; readonly error: unknown };

export interface TrafficListener {
  readonly onPacket: (packet: TrafficPacket) => void;
  readonly onSample: (sample: TrafficSample) => void;
  /** Called once a second for a scope with `rates`. */
  readonly onRates?: (links: readonly LinkRate[]) => void;
  readonly onState: (state: WatchState) => void;
}

const minRetryMs = 1_000;
const maxRetryMs = 10_000;
/** Codes of errors that a retry may solve. */
const temporaryErrors = new Set(["host_unreachable", "host_timeout", "host_error", "rate_limited"]);

/** Streams the packets of a lab's links until it is closed. It reconnects when the connection breaks. */
export class TrafficWatch {
  readonly #scope: TrafficScope;
  readonly #listener: TrafficListener;
  readonly #ended = new AbortController();
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retryMs = minRetryMs;

  constructor(scope: TrafficScope, listener: TrafficListener) {
    this.#scope = scope;
    this.#listener = listener;
    void this.#connect();
  }

  close(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
    this.#socket?.close();
  }

  async #connect(): Promise<void> {
    const { signal } = this.#ended;
    this.#listener.onState({ kind: "connecting" });
    try {
      const { stream } = await call("attachTraffic", this.#scope, { signal });
      this.#use((await call("streamTraffic", { ticket: stream }, { signal })) as unknown as WebSocket);
    } catch (error) {
      if (signal.aborted) return;
      const refused = error instanceof LabwrightError && !temporaryErrors.has(error.code ?? "");
      if (refused) this.#listener.onState({ kind: "refused", error });
      else this.#retryLater();
    }
  }

  #use(socket: WebSocket): void {
    if (this.#ended.signal.aborted) {
      socket.close();
      return;
    }
    this.#socket = socket;
    const decoder = new TextDecoder();
    let rest = "";
    socket.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer>) => {
      const lines = (rest + decoder.decode(data, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (this.#ended.signal.aborted) return;
      for (const line of lines) if (line !== "") this.#onLine(JSON.parse(line) as TrafficLine);
    });
    socket.addEventListener("close", () => {
      this.#socket = undefined;
      if (!this.#ended.signal.aborted) this.#retryLater();
    });
    this.#retryMs = minRetryMs;
    this.#listener.onState({ kind: "open" });
  }

  #onLine(line: TrafficLine): void {
    if ("sampled" in line) this.#listener.onSample(line.sampled);
    else if ("rates" in line) this.#listener.onRates?.(line.rates.links);
    else this.#listener.onPacket(line);
  }

  #retryLater(): void {
    const retryMs = this.#retryMs;
    this.#retryMs = Math.min(maxRetryMs, retryMs * 2);
    this.#timer = setTimeout(() => void this.#connect(), retryMs);
    this.#listener.onState({ kind: "broken", retryMs });
  }
}
