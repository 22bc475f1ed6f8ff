import { LabwrightError } from "../../client/browser.ts";
import { call } from "../service/api.ts";
import { unseenPart } from "./new-output.ts";

export type LinkState =
  | { readonly kind: "connecting" }
  | { readonly kind: "open"; readonly again: boolean }
  /** The node does not run; it is tried again when told that it does. */
  | { readonly kind: "stopped" }
  | { readonly kind: "broken"; readonly retryMs: number }
  /** It will not work however often it is tried. */
  | { readonly kind: "refused"; readonly error: unknown };

interface ConsoleLinkOptions {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
  readonly onBytes: (bytes: Uint8Array) => void;
  readonly onState: (state: LinkState) => void;
}

const firstRetryMs = 500;
const lastRetryMs = 10_000;
/** So many of the last bytes are remembered, to find where a new connection's scrollback goes beyond them. */
const tailBytes = 4096;

/** How long a new connection's scrollback may take to come to where the last one ended. */
const recallMs = 500;

/** What trying again does not mend. */
const final = new Set([
  "unauthenticated",
  "expired_agent_session",
  "operation_not_allowed",
  "unsupported",
  "node_not_found",
  "lab_not_found",
]);

/** The bytes of a node's console, for as long as somebody looks: it connects again when the connection breaks or the node restarts. */
export class ConsoleLink {
  readonly #options: ConsoleLinkOptions;
  readonly #ended = new AbortController();
  #state: LinkState = { kind: "connecting" };
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retryMs = firstRetryMs;
  #asking = false;
  #tail: Uint8Array = new Uint8Array();
  #size: readonly [number, number] | undefined;

  constructor(options: ConsoleLinkOptions) {
    this.#options = options;
    void this.#connect();
  }

  /** The node runs, as far as is known: what waits need wait no longer. */
  nodeRuns(): void {
    if (this.#state.kind === "stopped" || this.#state.kind === "broken") this.retry();
  }

  /** Now, not later. */
  retry(): void {
    if (this.#socket !== undefined || this.#asking) return;
    clearTimeout(this.#timer);
    void this.#connect();
  }

  /** What a person typed. Lost where there is no connection: it was not meant for what comes after. */
  send(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(bytes);
  }

  resize(columns: number, rows: number): void {
    this.#size = [columns, rows];
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ resize: this.#size }));
  }

  close(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
    this.#socket?.close();
  }

  #tell(state: LinkState): void {
    this.#state = state;
    if (!this.#ended.signal.aborted) this.#options.onState(state);
  }

  async #connect(): Promise<void> {
    const { lab, node } = this.#options;
    const { signal } = this.#ended;
    this.#asking = true;
    if (this.#state.kind !== "stopped") this.#tell({ kind: "connecting" });
    try {
      // Asked first, so that a stopped node is no error.
      const { consoles = [] } = await call("listProjectConsoles", { lab, node }, { signal });
      const entry = consoles.find((one) => (one.node ?? one.name) === node);
      if (entry?.available === false) {
        this.#stopped();
        return;
      }
      const { stream = "" } = await call("attachConsole", { lab, node }, { signal });
      this.#take((await call("streamConsole", { ticket: stream }, { signal })) as unknown as WebSocket);
    } catch (error) {
      if (signal.aborted) return;
      const code = error instanceof LabwrightError ? error.code : undefined;
      if (code === "node_not_running") this.#stopped();
      else if (final.has(code ?? "")) this.#tell({ kind: "refused", error });
      else this.#later();
    } finally {
      this.#asking = false;
    }
  }

  #take(socket: WebSocket): void {
    if (this.#ended.signal.aborted) {
      socket.close();
      return;
    }
    this.#socket = socket;
    const before = this.#tail;
    const show = (bytes: Uint8Array) => {
      if (!this.#ended.signal.aborted) this.#options.onBytes(bytes);
    };
    /** Scrollback that may have been shown before; undefined where that is settled. */
    let recalled: Uint8Array | undefined = before.length === 0 ? undefined : new Uint8Array();
    let patience: ReturnType<typeof setTimeout> | undefined;
    const settle = (news: Uint8Array) => {
      clearTimeout(patience);
      recalled = undefined;
      show(news);
    };
    socket.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer>) => {
      const bytes = new Uint8Array(data);
      this.#tail = joined(this.#tail, bytes).slice(-tailBytes);
      if (recalled === undefined) {
        show(bytes);
        return;
      }
      const all = joined(recalled, bytes);
      recalled = all;
      const news = unseenPart(before, all);
      if (news !== undefined) settle(news);
      else patience ??= setTimeout(() => settle(recalled ?? all), recallMs);
    });
    socket.addEventListener("close", () => {
      if (recalled !== undefined && recalled.length > 0) settle(recalled);
      this.#socket = undefined;
      if (!this.#ended.signal.aborted) this.#later();
    });
    this.#retryMs = firstRetryMs;
    this.#tell({ kind: "open", again: before.length > 0 });
    if (this.#size !== undefined) this.resize(...this.#size);
  }

  /** Whoever looks at the lab says when it runs again; should that get lost, it is seen a while later. */
  #stopped(): void {
    if (this.#state.kind !== "stopped") this.#tell({ kind: "stopped" });
    this.#retryMs = firstRetryMs;
    this.#timer = setTimeout(() => void this.#connect(), lastRetryMs);
  }

  #later(): void {
    const retryMs = this.#retryMs;
    this.#retryMs = Math.min(lastRetryMs, retryMs * 2);
    this.#timer = setTimeout(() => void this.#connect(), retryMs);
    this.#tell({ kind: "broken", retryMs });
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
