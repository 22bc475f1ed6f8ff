import type { Duplex } from "node:stream";
import { Expressions } from "../../console/dialogue/expressions.ts";
import { ConsoleHub } from "../../console/stream/hub.ts";
import { Mutex } from "../../console/stream/mutex.ts";
import type { Viewer } from "../../console/stream/viewer.ts";
import { cutOff } from "../../console/text/cut-off.ts";
import { Failure } from "../../contract/errors.ts";
import type { HostSession } from "../../hosts/host.ts";
import { isOfLab, type LabScope, labScope } from "./lab-scope.ts";

interface Console {
  readonly key: string;
  readonly path: string;
  readonly nodeId: string;
  /** The host session for the next opening: that of the latest caller, because older sessions may have ended. */
  host: HostSession;
  readonly hub: ConsoleHub;
  /** Locked while a command or a dialogue runs on the console. */
  readonly turn: Mutex;
}

const lastWordsMs = 2_000;

/** The open consoles: one upstream per node, shared by streams, commands and dialogues of all users. */
export class ConsoleDesk {
  /** By scope, the lab's id and the node's id. */
  readonly #consoles = new Map<string, Console>();
  readonly #retired = new Map<Console, NodeJS.Timeout>();

  readonly #scope: LabScope;
  readonly #labId: (path: string) => Promise<string>;

  /**
   * @param isRecorded whether the service has a record of a lab: consoles of other labs are shared only by sessions of the same host user
   * @param labId the host's current id of the lab at a path: a later lab at the same path has other consoles
   */
  constructor(isRecorded: (path: string) => boolean, labId: (path: string) => Promise<string>) {
    this.#scope = labScope(isRecorded);
    this.#labId = labId;
  }

  /** Tries the expressions of dialogues. */
  readonly expressions = new Expressions();

  /** Number of consoles that are open or being opened for a caller. */
  get count(): number {
    return this.#consoles.size;
  }

  /** Paths of labs with open consoles. */
  get paths(): readonly string[] {
    return [...this.#consoles.values()].map(({ path }) => path);
  }

  /** Number of streams and commands that use consoles now. */
  get viewers(): number {
    return [...this.#consoles.values()].reduce((sum, { hub }) => sum + hub.viewers, 0);
  }

  /** Opens a stream of the node's console. Throws node_not_running and other failures of the host. */
  async view(host: HostSession, path: string, nodeId: string): Promise<Viewer> {
    const console = await this.#console(host, path, nodeId);
    try {
      return await console.hub.view();
    } finally {
      this.#forget(console);
    }
  }

  resize(host: HostSession, path: string, nodeId: string, columns: number, rows: number): void {
    const scope = `${this.#scope(host, path)}\0`;
    for (const [key, { hub }] of this.#consoles) if (key.startsWith(scope) && key.endsWith(`\0${nodeId}`)) hub.resize(columns, rows);
  }

  /**
   * Runs `work` when no other command uses the console. Viewers still see the output and may type, except while `work` holds back their keys. Throws
   * console_in_use if the console is not free in time.
   */
  async inTurn<Result>(
    host: HostSession,
    at: { readonly path: string; readonly nodeId: string },
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
    work: (stream: Duplex, leftMs: number, hold: () => () => void) => Promise<Result>,
  ): Promise<Result> {
    const started = performance.now();
    const console = await this.#console(host, at.path, at.nodeId);
    const { hub, turn } = console;
    const release = await turn.acquire(options);
    if (release === null) {
      if (options.signal.aborted) throw cutOff(options.signal);
      throw new Failure("console_in_use", `another command holds this console, and did not end within ${options.timeoutMs} ms`);
    }
    try {
      const stream = await hub.view({ terminal: false, scrollback: false });
      // Readers see the end of the stream; there is no other error for a viewer.
      stream.on("error", () => {});
      try {
        const leftMs = Math.max(1, Math.round(options.timeoutMs - (performance.now() - started)));
        return await work(stream, leftMs, () => hub.hold(stream));
      } finally {
        stream.destroy();
      }
    } finally {
      release();
      this.#forget(console);
    }
  }

  /** The node went down: later viewers get a new console; current viewers see the last output of the old one. */
  retire(path: string, nodeId: string): void {
    for (const key of [...this.#consoles.keys()]) if (isOfLab(key, path) && key.endsWith(`\0${nodeId}`)) this.#retire(key);
  }

  retireLab(path: string): void {
    for (const key of [...this.#consoles.keys()]) if (isOfLab(key, path)) this.#retire(key);
  }

  /** Ends the consoles of a lab that has left its path or has got another owner. */
  closeLab(path: string): void {
    for (const [key, console] of [...this.#consoles]) {
      if (!isOfLab(key, path)) continue;
      this.#consoles.delete(key);
      close(console, "the lab is no longer at this path, or has another owner");
    }
  }

  #retire(key: string): void {
    const console = this.#consoles.get(key);
    if (console === undefined) return;
    this.#consoles.delete(key);
    // Usually the host closes the stream. Needed for hosts that leave it open.
    const timer = setTimeout(() => {
      this.#retired.delete(console);
      close(console, "the node went down");
    }, lastWordsMs);
    timer.unref();
    this.#retired.set(console, timer);
  }

  async close(): Promise<void> {
    const why = "the service is shutting down";
    for (const console of this.#consoles.values()) close(console, why);
    this.#consoles.clear();
    for (const [console, timer] of this.#retired) {
      clearTimeout(timer);
      close(console, why);
    }
    this.#retired.clear();
    await this.expressions.close();
  }

  /** A console that failed to open or has closed, and that no caller waits for. */
  #forget(console: Console): void {
    const { key } = console;
    if (!console.hub.open && !console.turn.held && this.#consoles.get(key) === console) this.#consoles.delete(key);
  }

  async #console(host: HostSession, path: string, nodeId: string): Promise<Console> {
    const labId = await this.#labId(path);
    const key = `${this.#scope(host, path)}\0${labId}\0${nodeId}`;
    const known = this.#consoles.get(key);
    if (known !== undefined) {
      known.host = host;
      return known;
    }
    const console: Console = { key, path, nodeId, host, turn: new Mutex(), hub: this.#hub(() => console, labId, nodeId) };
    this.#consoles.set(key, console);
    return console;
  }

  #hub(console: () => Console, labId: string, nodeId: string): ConsoleHub {
    return new ConsoleHub({
      open: async () => {
        const { host, path } = console();
        const source = await host.console(path, nodeId);
        if ((await this.#labId(path)) === labId) return source;
        source.stream.destroy();
        throw new Failure("lab_not_found", `another lab has taken the path ${path}, or there is none there any more`);
      },
      // Waiting commands keep their places: the next viewer opens the upstream again.
      onClosed: () => this.#forget(console()),
    });
  }
}

function close({ hub, path, nodeId }: Console, why: string): void {
  hub.close(`the console of node ${nodeId} of ${path} is closed: ${why}`);
}
