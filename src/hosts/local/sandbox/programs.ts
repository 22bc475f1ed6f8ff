import { Failure } from "../../../contract/errors.ts";
import { startProcess } from "../holder/node-process.ts";
import type { Fields } from "../holder/request.ts";
import { type Frame, list, texts } from "../holder/wire.ts";
import type { RunResult } from "../machine/machine.ts";
import type { HolderConnection } from "./holder-connection.ts";
import type { Sandbox } from "./sandbox.ts";

/** Maximum duration of a program in the fabric, ms. A batch for thousands of links takes seconds; a hanging program would block all changes of the lab. */
const maxRunMs = 300_000;

/** Returns the calls that run programs in the lab. */
export function programCalls({
  path,
  pulse,
  ask,
  openStream,
}: HolderConnection): Pick<Sandbox, "run" | "pipe" | "exec" | "process" | "join" | "connect" | "datagrams"> {
  return {
    run: (argv, stdin = "", { signal, timeoutMs = signal === undefined ? maxRunMs : 0, maxOutputBytes } = {}) =>
      runProgram(ask, "run", [timeoutMs, ...list(argv), stdin], argv, signal, maxOutputBytes),

    async pipe(argv, onOutput, signal) {
      let stderr = "";
      const onFrame = ({ type, data }: Frame) => {
        if (type === "O") onOutput(data);
        else if (type === "X" && stderr.length < 4096) stderr += data.toString("utf8");
      };
      const [code] = texts(await ask("run", [0, ...list(argv), ""], { onFrame, signal }));
      return { code: Number(code), stderr };
    },

    exec: (id, argv, { stdin = "", timeoutMs = 0, signal, maxOutputBytes } = {}) =>
      runProgram(ask, "exec", [id, Math.round(timeoutMs), ...list(argv), stdin], argv, signal, maxOutputBytes),

    process: (id, program, signal) => startProcess(path, pulse, id, program, signal),

    connect: (id, port) => openStream("connect", [id, port]),
    datagrams: (id, port) => openStream("datagrams", [id, port]),

    join: (id, argv) => openStream("join", [id, ...list(argv)]),
  };
}

/** Default limit of a program's output, bytes, so that a node cannot fill the service's memory. */
const maxOutput = 64 * 1024 * 1024;

async function runProgram(
  ask: HolderConnection["ask"],
  command: string,
  fields: Fields,
  argv: readonly string[],
  signal?: AbortSignal,
  most: number = maxOutput,
): Promise<RunResult> {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  let size = 0;
  const onFrame = ({ type, data }: Frame) => {
    size += data.length;
    // An exception here would end the connection and the program.
    if (size > most) throw new Failure("host_error", `${argv[0]} wrote more than ${most} bytes and was killed`);
    (type === "O" ? stdout : stderr).push(data);
  };
  const [code, ended] = texts(await ask(command, fields, { onFrame, signal }));
  const result = { code: Number(code), stdout: Buffer.concat(stdout).toString("utf8"), stderr: Buffer.concat(stderr).toString("utf8") };
  if (ended === "timeout") throw new Failure("host_timeout", `${argv[0]} did not end in time and was killed`, { data: { ...result } });
  return result;
}
