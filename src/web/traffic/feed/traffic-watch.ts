import { LabwrightError } from "../../../client/browser.ts";
import { call } from "../../service/api.ts";
import type { TrafficLine, TrafficPacket, TrafficSample } from "./traffic-packet.ts";

/** What is watched of a lab. */
export interface TrafficScope {
  readonly lab: string;
  /** Names of traffic filters; absent: every packet. */
  readonly filters?: readonly string[];
  /** Key of a node: its links only. */
  readonly node?: string;
  /** Key of a link: that only. */
  readonly link?: string;
}

export type WatchState =
  | { readonly kind: "connecting" }
  | { readonly kind: "open" }
  | { readonly kind: "broken"; readonly retryMs: number }
  /** It will not work however often it is tried. */
  | { readonly kind: "refused"; readonly error: unknown };

export interface TrafficListener {
  readonly onPacket: (packet: TrafficPacket) => void;
  readonly onSample: (sample: TrafficSample) => void;
  readonly onState: (state: WatchState) => void;
}

const firstRetryMs = 1_000;
const lastRetryMs = 10_000;
/** What trying again may mend: no connection, a host that is away, too many questions. */
const passing = new Set(["host_unreachable", "host_timeout", "host_error", "rate_limited"]);

/** The packets of a lab's links, from now until it is closed; connects again when the connection breaks. */
export class TrafficWatch {
  readonly #scope: TrafficScope;
  readonly #listener: TrafficListener;
  readonly #ended = new AbortController();
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retryMs = firstRetryMs;

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
      this.#take((await call("streamTraffic", { ticket: stream }, { signal })) as unknown as WebSocket);
    } catch (error) {
      if (signal.aborted) return;
      const refused = error instanceof LabwrightError && !passing.has(error.code ?? "");
      if (refused) this.#listener.onState({ kind: "refused", error });
      else this.#later();
    }
  }

  #take(socket: WebSocket): void {
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
      for (const line of lines) if (line !== "") this.#hear(JSON.parse(line) as TrafficLine);
    });
    socket.addEventListener("close", () => {
      this.#socket = undefined;
      if (!this.#ended.signal.aborted) this.#later();
    });
    this.#retryMs = firstRetryMs;
    this.#listener.onState({ kind: "open" });
  }

  #hear(line: TrafficLine): void {
    if ("sampled" in line) this.#listener.onSample(line.sampled);
    else this.#listener.onPacket(line);
  }

  #later(): void {
    const retryMs = this.#retryMs;
    this.#retryMs = Math.min(lastRetryMs, retryMs * 2);
    this.#timer = setTimeout(() => void this.#connect(), retryMs);
    this.#listener.onState({ kind: "broken", retryMs });
  }
}
