import { constants } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import type { NodeProcess, NodeProgram, ProcessEnd, ProcessOutput } from "../../host-processes.ts";
import type { AgentAnswer, GuestAgent } from "./guest-agent.ts";

/** Maximum bytes of input: the agent gets it with the start of the program. */
const maxInput = 4 << 20;
/** The time between two questions for the end of a program, ms. It grows with the program's age. */
const poll = { first: 20, last: 500 };

/** Changes the directory and begins a session, so that a signal reaches what the program has started. */
const begin = 'if [ -n "$1" ]; then cd -- "$1" || exit 126; fi; shift; command -v setsid > /dev/null && exec setsid "$@"; exec "$@"';
/** Without `--`, which the kill of busybox does not know. */
const kill = 'kill -"$1" "-$2" 2> /dev/null || kill -"$1" "$2" 2> /dev/null';

/**
 * Starts a program in a virtual machine by its guest agent. The agent takes the input with the start and gives the output with the end, so the program begins
 * at the end of its input. Throws unsupported for a program with a terminal or a conversation, and for a guest without an agent.
 */
export async function startInGuest(agent: GuestAgent, name: string, program: NodeProgram, signal: AbortSignal): Promise<NodeProcess> {
  const refused = (why: string) => new Failure("unsupported", `${name}: ${why}`, { data: { feature: "nodeExec" } });
  if (program.terminal !== undefined) throw refused("a virtual machine has no shell beside its console");
  if (program.conversation) throw refused("its guest agent takes no archive; exec -i NODE -- sh -c 'cat > FILE' writes a file");
  await agent.ask("guest-ping").catch((error: unknown) => {
    const silent = error instanceof Failure && error.code === "host_timeout";
    throw silent ? refused("its guest agent does not answer: it is not installed, or the guest has not booted; use the console") : error;
  });
  return new GuestProcess(agent, program, signal);
}

class GuestProcess implements NodeProcess {
  readonly output: AsyncIterable<ProcessOutput | ProcessEnd>;
  readonly #agent: GuestAgent;
  readonly #program: NodeProgram;
  readonly #input: Uint8Array[] = [];
  readonly #closed = new AbortController();
  #inputBytes = 0;
  #endInput!: () => void;
  #pid: number | undefined;

  constructor(agent: GuestAgent, program: NodeProgram, signal: AbortSignal) {
    this.#agent = agent;
    this.#program = program;
    const complete = new Promise<void>((resolve) => {
      this.#endInput = resolve;
    });
    const abort = () => this.close();
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    this.output = this.#run(complete, signal, () => signal.removeEventListener("abort", abort));
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#inputBytes += bytes.length;
    if (this.#inputBytes <= maxInput) this.#input.push(Uint8Array.from(bytes));
  }

  endInput(): void {
    this.#endInput();
  }

  resize(): void {
    // It has no terminal.
  }

  signal(number: number): void {
    if (this.#pid === undefined || this.#closed.signal.aborted) return;
    const arg = ["-c", kill, "sh", String(number), String(this.#pid)];
    // A program that has ended, or a node that has stopped, is seen by the reader of the output.
    this.#agent.ask("guest-exec", { path: "/bin/sh", arg }).catch(() => {});
  }

  close(): void {
    this.signal(constants.signals.SIGKILL);
    this.#closed.abort();
    this.#endInput();
  }

  async *#run(complete: Promise<void>, signal: AbortSignal, forget: () => void): AsyncGenerator<ProcessOutput | ProcessEnd> {
    let ended = false;
    try {
      await complete;
      signal.throwIfAborted();
      if (this.#closed.signal.aborted) return;
      if (this.#inputBytes > maxInput) throw new Failure("payload_too_large", `a guest agent takes at most ${maxInput >> 20} MiB of input`);
      this.#pid = await this.#start();
      const status = await this.#end();
      ended = true;
      if (status === undefined) return yield { stream: "end", signal: constants.signals.SIGKILL, reason: "stopped" };
      yield* outputOf(status.out, "stdout");
      yield* outputOf(status.error, "stderr");
      if (status.truncated)
        throw new Failure("host_error", "the program wrote more than its guest agent keeps: write to a file in the guest");
      yield status.end;
    } finally {
      forget();
      if (!ended) this.close();
    }
  }

  async #start(): Promise<number> {
    const { argv, env = {}, cwd = "" } = this.#program;
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const words = variables.length === 0 ? argv : ["env", ...variables, ...argv];
    const input = Buffer.concat(this.#input).toString("base64");
    const answer = await this.#agent.ask("guest-exec", {
      path: "/bin/sh",
      arg: ["-c", begin, "sh", cwd, ...words],
      "capture-output": true,
      ...(input !== "" && { "input-data": input }),
    });
    const { pid } = fieldsOf(answer);
    if (!Number.isSafeInteger(pid)) throw invalid();
    return pid as number;
  }

  /** Waits for the end of the program. `undefined`: its node has stopped. */
  async #end(): Promise<Status | undefined> {
    const { timeoutMs } = this.#program;
    const deadline = timeoutMs === undefined || timeoutMs === 0 ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs;
    let late = false;
    for (let wait = poll.first; ; wait = Math.min(wait * 1.5, poll.last)) {
      let answer: AgentAnswer;
      try {
        answer = await this.#agent.ask("guest-exec-status", { pid: this.#pid });
      } catch (error) {
        if (error instanceof Failure && (error.code === "node_not_running" || error.code === "node_not_found")) return undefined;
        throw error;
      }
      const fields = fieldsOf(answer);
      if (fields["exited"] === true) return statusOf(fields, late);
      if (performance.now() >= deadline && !late) {
        late = true;
        this.signal(constants.signals.SIGKILL);
      }
      const untilDeadline = late ? wait : Math.max(1, deadline - performance.now());
      await delay(Math.min(wait, untilDeadline), undefined, { signal: this.#closed.signal });
    }
  }
}

interface Status {
  readonly out: Buffer;
  readonly error: Buffer;
  readonly truncated: boolean;
  readonly end: ProcessEnd;
}

/** @param late whether the program was killed after its time */
function statusOf(fields: Readonly<Record<string, unknown>>, late: boolean): Status {
  const { exitcode, signal } = fields;
  const bytes = (name: string) => Buffer.from(typeof fields[name] === "string" ? fields[name] : "", "base64");
  const reason = late ? { reason: "timeout" as const } : {};
  const end: ProcessEnd = Number.isSafeInteger(signal)
    ? { stream: "end", signal: signal as number, ...reason }
    : { stream: "end", exitCode: Number.isSafeInteger(exitcode) ? (exitcode as number) : 0, ...reason };
  return {
    out: bytes("out-data"),
    error: bytes("err-data"),
    truncated: fields["out-truncated"] === true || fields["err-truncated"] === true,
    end,
  };
}

function* outputOf(data: Buffer, stream: ProcessOutput["stream"]): Generator<ProcessOutput> {
  if (data.length > 0) yield { stream, data };
}

function fieldsOf(answer: AgentAnswer): Readonly<Record<string, unknown>> {
  if ("problem" in answer) throw new Failure("host_error", `the guest agent refused the program: ${answer.problem}`);
  if (typeof answer.value !== "object" || answer.value === null) throw invalid();
  return answer.value as Readonly<Record<string, unknown>>;
}

function invalid(): Failure {
  return new Failure("host_error", "the guest agent sent no valid answer");
}
