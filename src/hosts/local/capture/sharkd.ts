import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { chown, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import { idRange } from "../idmap.ts";

/** An id of the labs' range that no lab uses: what decodes the packets of strangers is nobody, and without a network. */
const decoderId = idRange.base + idRange.count - 3;
const bounds = [`--as=${2 * 2 ** 30}`, "--cpu=600", "--nofile=64", "--core=0"];
const requestMs = 20_000;
/** Of one answer: a thousand rows are a fraction of it. */
const longestAnswer = 32 << 20;

/** Columns of the list, in this order. */
const preferences = `gui.column.format: "Time", "%Cus:frame.time_epoch:0:R", "Source", "%us", "Destination", "%ud", "Protocols", "%Cus:frame.protocols:0:R", "Length", "%L", "Info", "%i"
`;

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** Makes a directory that the decoder, and nobody else, works in. */
export async function makeDecoderDirectory(directory: string): Promise<void> {
  await mkdir(directory, { mode: 0o700 });
  await writeFile(join(directory, "preferences"), preferences, { mode: 0o644 });
  if (process.getuid?.() === 0) await chown(directory, decoderId, decoderId);
}

/** Gives a file in that directory to the decoder. */
export async function giveToDecoder(file: string): Promise<void> {
  if (process.getuid?.() === 0) await chown(file, decoderId, decoderId);
}

/** A refusal of sharkd, such as of a display filter. */
export class SharkdRefusal extends Failure {
  constructor(message: string) {
    super("host_error", `the packets could not be decoded: ${message}`, { data: { host: { message } } });
  }
}

/** One sharkd (wireshark-common), which knows one file. Requests are answered one by one; one that takes too long, or dies, ends it. */
export class Sharkd {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;
  #text = "";
  #ended: Error | undefined;

  constructor(directory: string) {
    const nobody = ["setpriv", `--reuid=${decoderId}`, `--regid=${decoderId}`, "--clear-groups", "--no-new-privs"];
    const apart =
      process.getuid?.() === 0
        ? ["unshare", "--net", "prlimit", ...bounds, ...nobody]
        : ["unshare", "--user", "--net", "prlimit", ...bounds];
    const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: ".", WIRESHARK_CONFIG_DIR: ".", LC_ALL: "C.UTF-8" };
    this.#child = spawn(apart[0]!, [...apart.slice(1), "sharkd", "-"], { cwd: directory, env });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    // What it says there is for people who start it by hand.
    this.#child.stderr.resume();
    this.#child.stdin.on("error", () => undefined);
    this.#child.on("error", (error) => this.#end(error));
    this.#child.on("close", (code, signal) => this.#end(new Error(`sharkd ended (${signal ?? `code ${code}`})`)));
  }

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Throws SharkdRefusal for what sharkd refuses; host_error where it has died or takes too long. */
  request(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(broken(this.#ended));
      const id = this.#next++;
      const timer = setTimeout(() => this.#end(new Error(`sharkd took longer than ${requestMs / 1000} s for ${method}`)), requestMs);
      this.#waiting.set(id, { resolve, reject, timer });
      this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  }

  close(): void {
    this.#end(new Error("it was closed"));
  }

  #take(text: string): void {
    this.#text += text;
    if (this.#text.length > longestAnswer) {
      this.#end(new Error("sharkd answered too much"));
      return;
    }
    const lines = this.#text.split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("{")) continue;
      const answer = JSON.parse(line) as { readonly id: number; readonly result?: unknown; readonly error?: { readonly message: string } };
      const waiting = this.#waiting.get(answer.id);
      if (waiting === undefined) continue;
      this.#waiting.delete(answer.id);
      clearTimeout(waiting.timer);
      if (answer.error === undefined) waiting.resolve(answer.result);
      else waiting.reject(new SharkdRefusal(answer.error.message));
    }
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
  const message = `the packets could not be decoded: ${cause.message}; the capture can be downloaded`;
  return new Failure("host_error", message, { data: { host: { message: cause.message } }, cause });
}
