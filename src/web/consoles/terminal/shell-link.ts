import { LabwrightError } from "../../../client/browser.ts";
import { FrameParts, frame, frameTypes } from "../../../contract/process-frames.ts";
import type { NodeExecEvent } from "../../../contract/schemas/processes.ts";
import { call } from "../../service/api.ts";
import type { ConsoleLinkOptions, LinkState, TerminalLink } from "./console-link.ts";

/** A shell of its own in a node. It ends with its connection, and only the user starts another one. */
export class ShellLink implements TerminalLink {
  readonly #options: ConsoleLinkOptions;
  readonly #ended = new AbortController();
  #socket: WebSocket | undefined;
  #isConnecting = false;
  #size: readonly [number, number] = [80, 24];
  #hasRun = false;

  constructor(options: ConsoleLinkOptions) {
    this.#options = options;
    // The terminal sets its size first.
    queueMicrotask(() => void this.#connect());
  }

  /** A shell that has ended stays ended when its node starts again. */
  nodeRuns(): void {}

  retry(): void {
    if (this.#socket === undefined && !this.#isConnecting) void this.#connect();
  }

  send(bytes: Uint8Array<ArrayBuffer>): void {
    this.#sendFrame(frame(frameTypes.data, bytes));
  }

  resize(columns: number, rows: number): void {
    this.#size = [columns, rows];
    this.#sendFrame(frame(frameTypes.control, new TextEncoder().encode(JSON.stringify({ resize: this.#size }))));
  }

  close(): void {
    this.#ended.abort();
    this.#socket?.close();
  }

  #sendFrame(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(bytes);
  }

  #setState(state: LinkState): void {
    if (!this.#ended.signal.aborted) this.#options.onState(state);
  }

  async #connect(): Promise<void> {
    const { lab, node } = this.#options;
    const { signal } = this.#ended;
    if (signal.aborted) return;
    this.#isConnecting = true;
    this.#setState({ kind: "connecting" });
    try {
      const [columns, rows] = this.#size;
      const body = { lab, node, env: { TERM: "xterm-256color" }, terminal: { columns, rows } };
      const { stream } = await call("attachProcess", body, { signal });
      this.#use((await call("streamProcess", { ticket: stream }, { signal })) as unknown as WebSocket);
    } catch (error) {
      if (signal.aborted) return;
      // A browser does not show why a stream was refused: usually the node does not run.
      const isRefused = error instanceof LabwrightError && error.status !== 0;
      this.#setState(isRefused ? { kind: "refused", error } : { kind: "ended", text: "No shell: does the node run?" });
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
    const frames = new FrameParts();
    let end = "The connection of the shell ended";
    socket.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer>) => {
      if (this.#ended.signal.aborted) return;
      for (const part of frames.take(new Uint8Array(data))) {
        if (part.type === frameTypes.control) end = endText(JSON.parse(new TextDecoder().decode(part.data)) as NodeExecEvent);
        else this.#options.onBytes(part.data);
      }
    });
    socket.addEventListener("close", () => {
      this.#socket = undefined;
      this.#setState({ kind: "ended", text: end });
    });
    this.#setState({ kind: "open", again: this.#hasRun });
    this.#hasRun = true;
    this.resize(...this.#size);
  }
}

function endText({ type, exit_code: code, signal, reason, error }: NodeExecEvent): string {
  if (type === "failed") return `The shell failed: ${error ?? "unknown reason"}`;
  if (reason === "node_stopped") return "The shell ended with its node";
  return code === undefined ? `The shell was ended by ${signal ?? "a signal"}` : `The shell ended with exit code ${code}`;
}
