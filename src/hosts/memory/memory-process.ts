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
  const texts: Readonly<Record<string, () => string>> = {
    hostname: () => `${hostname}\n`,
    echo: () => `${words.join(" ")}\n`,
    env: () => `${env[words[0] ?? ""] ?? ""}\n`,
    pwd: () => `${cwd}\n`,
  };

  async function* output(): AsyncGenerator<ProcessOutput | ProcessEnd> {
    let timer: NodeJS.Timeout | undefined;
    try {
      if (name === "cat") {
        await Promise.race([allInput, end]);
        for (const data of input) yield { stream: "stdout", data };
      } else if (texts[name] !== undefined) yield { stream: "stdout", data: Buffer.from(texts[name]()) };
      else if (name === "sleep") timer = setTimeout(() => ended({ stream: "end", exitCode: 0 }), 1000 * Number(words[0]));
      else if (!["true", "false", "exit"].includes(name))
        yield { stream: "stderr", data: Buffer.from(`labwright: ${name}: No such file or directory\n`) };
      const codes: Readonly<Record<string, number>> = {
        ...Object.fromEntries(Object.keys(texts).map((each) => [each, 0])),
        true: 0,
        cat: 0,
        false: 1,
      };
      if (name !== "sleep") ended({ stream: "end", exitCode: name === "exit" ? Number(words[0]) : (codes[name] ?? 127) });
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
