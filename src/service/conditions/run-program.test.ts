import { expect, test } from "vitest";
import type { HostProcesses } from "../../hosts/host-processes.ts";
import { runProgram } from "./run-program.ts";

test("a program that prints more than a check may is ended, with the limit and the next step", async () => {
  let isEnded = false;
  const output = async function* () {
    try {
      for (;;) yield { stream: "stdout", data: Buffer.alloc(64 << 10) } as const;
    } finally {
      isEnded = true;
    }
  };
  const processes = { start: async () => ({ output: output(), endInput: () => {} }) } as unknown as HostProcesses;
  const run = runProgram(processes, { lab: "/x", nodeId: "1" }, { argv: ["sh"], timeoutMs: 1_000 }, new AbortController().signal);
  await expect(run).rejects.toMatchObject({
    code: "host_error",
    message: "sh printed more than 1 MiB, the limit of a check, and was ended: print less, for example with | tail or | grep -c",
  });
  expect(isEnded).toBe(true);
});
