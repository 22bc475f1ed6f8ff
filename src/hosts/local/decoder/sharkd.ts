import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { chown, mkdir, open, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import { idRange } from "../machine/idmap.ts";
import { spawnPiped } from "../machine/spawn-piped.ts";

/** An id of the labs' range that no lab uses. The decoder of untrusted packets runs as this user, without a network. */
const decoderId = idRange.base + idRange.count - 3;
/**
 * How long a request may take, ms. A capture that is full has at most half a million small packets, which a busy machine reads in 20 s. Callers wait for 60 s.
 * `short` is for requests that do not look at all packets.
 */
const usualDeadlines = { long: 50_000, short: 10_000 };
const shortRequests: ReadonlySet<string> = new Set(["check", "frame", "status"]);
/** Maximum bytes of a request's line without its line end: sharkd reads a longer line as two. */
export const maxRequestBytes = 2_046;
/** Maximum bytes of one answer: a thousand rows take a fraction of it. */
const maxAnswer = 32 << 20;

/** Columns of the list, in this order. */
const preferences = `gui.column.format: "Time", "%Cus:frame.time_epoch:0:R", "Source", "%us", "Destination", "%ud", "Protocols", "%Cus:frame.protocols:0:R", "Length", "%L", "Info", "%i"
`;

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** Makes a directory in which only the decoder works. */
export async function makeDecoderDirectory(directory: string): Promise<void> {
  await mkdir(directory, { mode: 0o700 });
  await writeFile(join(directory, "preferences"), preferences, { mode: 0o644 });
  if (process.getuid?.() === 0) await chown(directory, decoderId, decoderId);
}

/**
 * Writes a file for the decoder into that directory. The decoder, which untrusted packets may have taken over, can plant anything there:
 * an entry at the path is removed unless it is a directory, and only a newly created file is written and given away.
 */
export async function copyForDecoder(file: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  // Not recursive: the owner could change the tree during the removal, so that it leads to other directories.
  await rm(file, { force: true });
  await using handle = await open(file, "wx", 0o600);
  if (process.getuid?.() === 0) await handle.chown(decoderId, decoderId);
  for await (const chunk of bytes) await handle.writeFile(chunk);
}

/** A refusal of sharkd, such as of a display filter. */
export class SharkdRefusal extends Failure {
  /** The message of sharkd. */
  readonly reason: string;

  constructor(reason: string) {
    super("host_error", `the packets could not be decoded: ${reason}`, { data: { host: { message: reason } } });
    this.reason = reason;
  }
}

/**
 * A sharkd process (wireshark-common) for one file. It is the init of its own pid namespace, without a network, and can read only its own directory
 * (labwright-decoder). Even if a packet takes it over, all its processes end with it. Requests run one after the other. A request that takes too
 * long, or an unexpected answer, ends the process.
 */
export class Sharkd {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #deadlines: typeof usualDeadlines;
  readonly #gone: Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;
  /** The beginning of an incomplete answer. */
  #parts: string[] = [];
  #length = 0;
  #ended: Error | undefined;

  /**
   * @param program labwright-decoder
   * @param directory that it works in
   * @param over a directory that its root is put together on, in a mount namespace of its own
   */
  constructor(program: string, directory: string, over: string, deadlines = usualDeadlines) {
    this.#deadlines = deadlines;
    const asRoot = process.getuid?.() === 0;
    const spaces = ["--net", "--ipc", "--uts", "--mount", "--pid", "--fork", "--kill-child"];
    const own = asRoot ? [] : ["--user", "--map-root-user"];
    const argv = [...own, ...spaces, resolve(program), resolve(over), String(asRoot ? decoderId : 0)];
    this.#child = spawnPiped("unshare", argv, { cwd: directory, env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" } });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    // sharkd's own log on stderr is not used. Only messages of the programs that start it matter.
    let words = "";
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      words = (words + text).slice(0, 4_096);
    });
    // A sharkd that reads no more has ended: its end fails all requests.
    this.#child.stdin.on("error", () => undefined);
    this.#child.on("error", (error) => this.#end(error));
    this.#gone = new Promise((resolve) => {
      this.#child.on("close", (code, signal) => {
        const why = words.split("\n").find((line) => /^(?:labwright-decoder|unshare): /.test(line));
        this.#end(new Error(`sharkd ended (${signal ?? `code ${code}`})${why === undefined ? "" : `: ${why}`}`));
        resolve();
      });
    });
  }

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Throws SharkdRefusal for what sharkd refuses; host_error if it has ended or takes too long. */
  request(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(broken(this.#ended));
      const id = this.#next++;
      const line = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      const bytes = Buffer.byteLength(line);
      if (bytes > maxRequestBytes)
        return reject(broken(new Error(`a request of ${bytes} bytes is too long for sharkd: the maximum is ${maxRequestBytes}`)));
      const ms = this.#deadlines[shortRequests.has(method) ? "short" : "long"];
      const timer = setTimeout(() => this.#end(new Error(`sharkd took longer than ${ms / 1000} s for ${method}`)), ms);
      this.#waiting.set(id, { resolve, reject, timer });
      this.#child.stdin.write(`${line}\n`);
    });
  }

  /** Resolves when it has ended. */
  close(): Promise<void> {
    this.#end(new Error("it was closed"));
    return this.#gone;
  }

  #take(text: string): void {
    const [first = "", ...others] = text.split("\n");
    this.#parts.push(first);
    this.#length += first.length;
    for (const other of others) {
      this.#answer(this.#parts.join(""));
      this.#parts = [other];
      this.#length = other.length;
    }
    if (this.#length > maxAnswer) this.#end(new Error(`an answer of sharkd is longer than ${maxAnswer} characters`));
  }

  #answer(line: string): void {
    if (this.#ended !== undefined || !line.startsWith("{")) return;
    let answer: { readonly id?: number; readonly result?: unknown; readonly error?: { readonly message?: string } };
    try {
      answer = JSON.parse(line);
    } catch {
      // All requests that wait fail with this error.
      this.#end(new Error("an answer of sharkd is not JSON"));
      return;
    }
    const waiting = this.#waiting.get(answer.id ?? 0);
    if (waiting === undefined) {
      // sharkd did not understand a request: its next answer may belong to another request.
      this.#end(new Error(`sharkd did not accept a request: ${answer.error?.message ?? "without an error"}`));
      return;
    }
    this.#waiting.delete(answer.id ?? 0);
    clearTimeout(waiting.timer);
    if (answer.error === undefined) waiting.resolve(answer.result);
    else waiting.reject(new SharkdRefusal(String(answer.error.message)));
  }

  #end(error: Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = error;
    this.#child.kill("SIGKILL");
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(broken(error));
    }
    this.#waiting.clear();
  }
}

function broken(cause: Error): Failure {
  const message = `the packets could not be decoded: ${cause.message}; download the capture to open it in another program`;
  return new Failure("host_error", message, { data: { host: { message: cause.message } }, cause });
}
