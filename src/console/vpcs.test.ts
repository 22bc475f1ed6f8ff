import { once } from "node:events";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import { NodeConsole } from "../../test/fakes/eve/console.ts";
import { runDialogue } from "./dialogue/dialogue.ts";
import { execCommand } from "./dialogue/exec.ts";
import { telnetStream } from "./stream/telnet.ts";

let ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

interface Pc {
  readonly stream: Duplex;
  /** Lines that it ran, including its startup file. */
  readonly ran: readonly string[];
}

/** The console of a VPCS that has just been started. */
async function freshPc(startup: string | undefined, address = 600): Promise<Pc> {
  const ran: string[] = [];
  const console = await NodeConsole.open({
    name: "pc1",
    type: "vpcs",
    startup,
    vpcs: { boot: 200, address },
    answer: (line) => {
      ran.push(line);
      return line === "show ip" ? `NAME : PC1[${ran.length}]` : undefined;
    },
    port: 0,
    address: "127.0.0.1",
  });
  ends.push(() => console.close());
  const socket = connect({ host: "127.0.0.1", port: console.port });
  await once(socket, "connect");
  ends.push(() => socket.destroy());
  return { stream: telnetStream(socket).stream, ran };
}

const files = [
  ["without a startup file", undefined],
  ["with a startup file that is over at once", "set pcname PC1\n"],
  // As long as several of the empty lines that ask for a prompt: the terminal echoes each of them.
  ["with a startup file that takes seconds", "ip 10.0.0.1/24\n"],
] as const;

describe.each(files)("a VPCS that has just been started, %s", (_name, startup) => {
  it("runs the command of an exec once, after its startup file, and returns its output", async () => {
    const { stream, ran } = await freshPc(startup, 5_000);
    const { output } = await execCommand(stream, { command: "show ip", timeoutMs: 20_000 });
    const file = (startup ?? "").split("\n").filter((line) => line !== "");
    expect(ran).toEqual([...file, "show ip"]);
    expect(output).toBe(`NAME : PC1[${ran.length}]`);
  });

  it("runs the line of a dialogue once, though an earlier line end is still queued when it is typed", async () => {
    const { stream, ran } = await freshPc(startup);
    const { steps } = await runDialogue(stream, [
      { send: "", expect: "> " },
      { send: "show ip", expect: { regex: "PC1\\[\\d+\\]" } },
    ]);
    expect(steps.map(({ matched }) => matched)).toEqual([true, true]);
    expect(ran.filter((line) => line === "show ip")).toHaveLength(1);
    // The prompt without the line's echo is part of the output.
    expect(steps[1]?.output).toMatch(/> show ip\nNAME/);
  });
});

it("a line whose echo came is typed once, also where its output looks like the prompt", async () => {
  const { stream, ran } = await freshPc(undefined);
  await runDialogue(stream, [{ expect: "VPCS> " }, { send: "echo VPCS", expect: { regex: "^VPCS> $" } }]);
  expect(ran).toEqual(["echo VPCS"]);
});
