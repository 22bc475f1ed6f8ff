import type { NodeProcess, NodeProgram, ProcessEnd, ProcessOutput } from "../host-processes.ts";

/** A program of a simulated node: true, false, exit N, hostname, echo, env NAME, pwd, cat, sleep SECONDS. Any other ends with 127. */
export function memoryProcess(hostname: string, { argv, env = {}, cwd = "/", timeoutMs }: NodeProgram, signal: AbortSignal): NodeProcess {
  const [name = "", ...words] = argv;
  const input: Buffer[] = [];
  let ended = (_end: ProcessEnd): void => {};
  let inputEnded = (): void => {};
  const end = new Promise<ProcessEnd>((resolve) => {
    ended = resolve;
  });
  const allInput = new Promise<void>((resolve) => {
    inputEnded = resolve;
  });
  const killed = () => ended({ stream: "end", signal: 9 });
  signal.addEventListener("abort", killed, { once: true });
  const limit = timeoutMs === undefined ? undefined : setTimeout(() => ended({ stream: "end", signal: 9, reason: "timeout" }), timeoutMs);
  const value = Object.hasOwn(env, words[0] ?? "") ? env[words[0] ?? ""] : undefined;
  // A map: a program may have the name of a method of all objects.
  const texts: ReadonlyMap<string, string> = new Map([
    ["hostname", `${hostname}\n`],
    ["echo", `${words.join(" ")}\n`],
    ["env", `${value ?? ""}\n`],
    ["pwd", `${cwd}\n`],
  ]);

  async function* output(): AsyncGenerator<ProcessOutput | ProcessEnd> {
    let timer: NodeJS.Timeout | undefined;
    try {
      if (name === "cat") {
        await Promise.race([allInput, end]);
        for (const data of input) yield { stream: "stdout", data };
      } else if (texts.has(name)) yield { stream: "stdout", data: Buffer.from(texts.get(name) ?? "") };
      else if (name === "sleep") timer = setTimeout(() => ended({ stream: "end", exitCode: 0 }), 1000 * Number(words[0]));
      else if (!["true", "false", "exit"].includes(name))
        yield { stream: "stderr", data: Buffer.from(`labwright: ${name}: No such file or directory\n`) };
      const known = texts.has(name) || name === "true" || name === "cat" ? 0 : name === "false" ? 1 : 127;
      if (name !== "sleep") ended({ stream: "end", exitCode: name === "exit" ? Number(words[0]) : known });
      yield await end;
    } finally {
      clearTimeout(timer);
      clearTimeout(limit);
      signal.removeEventListener("abort", killed);
    }
  }

  return {
    output: output(),
    write: async (bytes) => {
      if (bytes.length > 0) input.push(Buffer.from(bytes));
    },
    endInput: inputEnded,
    resize: () => undefined,
    signal: (number) => ended({ stream: "end", signal: number }),
    close: killed,
  };
}
