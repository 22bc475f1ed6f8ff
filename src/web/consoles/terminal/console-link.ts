import { nodeKey } from "../../../base/node-key.ts";
import { LabwrightError } from "../../../client/browser.ts";
import { call } from "../../service/api.ts";
import { newOutput } from "./new-output.ts";

export type LinkState =
  | { readonly kind: "connecting" }
  | { readonly kind: "open"; readonly again: boolean }
  /** The node does not run. The link connects when `nodeRuns()` is called. */
  | { readonly kind: "stopped" }
  | { readonly kind: "broken"; readonly retryMs: number }
  /** A shell has ended. Only the user starts another one. */
  | { readonly kind: "ended"; readonly text: string }
  /** The link is not retried: a retry would be refused, too. */
  | { readonly kind: "refused"; readonly error: unknown };

/** A terminal's connection to a node. */
export interface TerminalLink {
  nodeRuns(): void;
  retry(): void;
  send(bytes: Uint8Array<ArrayBuffer>): void;
  resize(columns: number, rows: number): void;
  close(): void;
}

export interface ConsoleLinkOptions {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
  readonly onBytes: (bytes: Uint8Array) => void;
  readonly onState: (state: LinkState) => void;
}

const minRetryMs = 500;
const maxRetryMs = 10_000;
/** Number of last bytes that are kept, to find them in the scrollback of a new connection. */
const tailBytes = 4096;

/** How long the scrollback of a new connection may take to reach the end of the last one, ms. After that all of it is shown. */
const maxOverlapMs = 500;

/** Codes of errors that a retry does not solve. */
const finalErrors = new Set([
  "unauthenticated",
  "expired_agent_session",
  "operation_not_allowed",
  "unsupported",
  "node_not_found",
  "lab_not_found",
]);

/** A connection to a node's console that reconnects when it breaks and when the node restarts, until it is closed. */
export class ConsoleLink implements TerminalLink {
  readonly #options: ConsoleLinkOptions;
  readonly #ended = new AbortController();
  #state: LinkState = { kind: "connecting" };
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retryMs = minRetryMs;
  #isConnecting = false;
  #tail: Uint8Array = new Uint8Array();
  #size: readonly [number, number] | undefined;

  constructor(options: ConsoleLinkOptions) {
    this.#options = options;
    void this.#connect();
  }

  /** Reports that the node runs: a link that waits for it connects at once. */
  nodeRuns(): void {
    if (this.#state.kind === "stopped" || this.#state.kind === "broken") this.retry();
  }

  /** Connects now instead of after the retry delay. */
  retry(): void {
    if (this.#socket !== undefined || this.#isConnecting) return;
    clearTimeout(this.#timer);
    void this.#connect();
  }

  /** Sends typed bytes. Without a connection they are discarded: they were not meant for a later state of the console. */
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

  #setState(state: LinkState): void {
    this.#state = state;
    if (!this.#ended.signal.aborted) this.#options.onState(state);
  }

  async #connect(): Promise<void> {
    const { lab, node } = this.#options;
    const { signal } = this.#ended;
    this.#isConnecting = true;
    if (this.#state.kind !== "stopped") this.#setState({ kind: "connecting" });
    try {
      // Checked first, because attaching to a stopped node is an error in the browser's console.
      const { consoles = [] } = await call("listProjectConsoles", { lab, node }, { signal });
      const entry = consoles.find((one) => nodeKey(one) === node);
      if (entry?.available === false) {
        this.#waitForNode();
        return;
      }
      const { stream = "" } = await call("attachConsole", { lab, node }, { signal });
      this.#use((await call("streamConsole", { ticket: stream }, { signal })) as unknown as WebSocket);
    } catch (error) {
      if (signal.aborted) return;
      const code = error instanceof LabwrightError ? error.code : undefined;
      if (code === "node_not_running") this.#waitForNode();
      else if (finalErrors.has(code ?? "")) this.#setState({ kind: "refused", error });
      else this.#retryLater();
    } finally {
      this.#isConnecting = false;
    }
  }

  #use(socket: WebSocket): void {
    if (this.#ended.signal.aborted) {
      socket.close();
      return;
    }
    this.#socket = socket;
    const before = this.#tail;
    const show = (bytes: Uint8Array) => {
      if (!this.#ended.signal.aborted) this.#options.onBytes(bytes);
    };
    /** Scrollback that may have been shown before; undefined after the overlap is found. */
    let scrollback: Uint8Array | undefined = before.length === 0 ? undefined : new Uint8Array();
    let timeout: ReturnType<typeof setTimeout> | undefined;
    const endScrollback = (newBytes: Uint8Array) => {
      clearTimeout(timeout);
      scrollback = undefined;
      show(newBytes);
    };
    socket.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer>) => {
      const bytes = new Uint8Array(data);
      this.#tail = joined(this.#tail, bytes).slice(-tailBytes);
      if (scrollback === undefined) {
        show(bytes);
        return;
      }
      const all = joined(scrollback, bytes);
      scrollback = all;
      const newBytes = newOutput(before, all);
      if (newBytes !== undefined) endScrollback(newBytes);
      else timeout ??= setTimeout(() => endScrollback(scrollback ?? all), maxOverlapMs);
    });
    socket.addEventListener("close", () => {
      if (scrollback !== undefined && scrollback.length > 0) endScrollback(scrollback);
      this.#socket = undefined;
      if (!this.#ended.signal.aborted) this.#retryLater();
    });
    this.#retryMs = minRetryMs;
    this.#setState({ kind: "open", again: before.length > 0 });
    if (this.#size !== undefined) this.resize(...this.#size);
  }

  /** Waits for `nodeRuns()`. Also checks after a while, in case the event of the start was missed. */
  #waitForNode(): void {
    if (this.#state.kind !== "stopped") this.#setState({ kind: "stopped" });
    this.#retryMs = minRetryMs;
    this.#timer = setTimeout(() => void this.#connect(), maxRetryMs);
  }

  #retryLater(): void {
    const retryMs = this.#retryMs;
    this.#retryMs = Math.min(maxRetryMs, retryMs * 2);
    this.#timer = setTimeout(() => void this.#connect(), retryMs);
    this.#setState({ kind: "broken", retryMs });
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
