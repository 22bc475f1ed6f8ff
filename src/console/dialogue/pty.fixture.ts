import { type ChildProcess, spawn } from "node:child_process";
import { Duplex } from "node:stream";

const running: ChildProcess[] = [];

/** Runs a real program on a real PTY (util-linux `script`), as the stream of a console. For tests: endPrograms() after each. */
export function onPty(command: string, env: Readonly<Record<string, string>> = {}): Duplex {
  const child = spawn("script", ["-qfec", command, "/dev/null"], {
    env: { PATH: process.env["PATH"] ?? "", HOME: "/", TERM: "xterm", ...env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  running.push(child);
  const stream = Duplex.from({ readable: child.stdout!, writable: child.stdin! });
  stream.on("error", () => {});
  return stream;
}

export async function endPrograms(): Promise<void> {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const gone = new Promise((settle) => child.once("exit", settle));
    child.kill("SIGKILL");
    await gone;
  }
}
