import { expect, test } from "vitest";
import type { NodeExecEvent } from "../../contract/schemas/processes.ts";
import { outputOf } from "./run-in-node.ts";

const written = (stream: "stdout" | "stderr", text: string): NodeExecEvent => ({ type: "output", node: "h1", stream, data: btoa(text) });

async function* of(...events: readonly NodeExecEvent[]): AsyncGenerator<NodeExecEvent> {
  yield { type: "begin", nodes: ["h1"] };
  yield* events;
}

test("the standard output of a program that succeeds is returned", async () => {
  const events = of(written("stdout", "one "), written("stderr", "a note"), written("stdout", "two"), { type: "end", exit_code: 0 });
  await expect(outputOf(events)).resolves.toBe("one two");
});

test.each<[string, readonly NodeExecEvent[], string]>([
  ["writes a message", [written("stderr", "no such file\n"), { type: "end", exit_code: 2 }], "no such file"],
  ["writes nothing", [{ type: "end", exit_code: 2 }], "the program ended with exit code 2"],
  ["takes too long", [{ type: "end", signal: "SIGKILL", reason: "timeout" }], "the program did not end within 20 s"],
  ["writes too much", [{ type: "end", signal: "SIGKILL", reason: "output_limit" }], "the program wrote more than 4 MiB"],
  ["ends with its node", [{ type: "end", signal: "SIGKILL", reason: "node_stopped" }], "the program ended with its node"],
  ["is killed", [{ type: "end", signal: "SIGSEGV" }], "the program was ended by SIGSEGV"],
  ["does not start", [{ type: "failed", code: "node_not_running", error: "node h1 is stopped" }], "node h1 is stopped"],
  ["loses its connection", [written("stdout", "a part")], "the connection ended before the program: try again"],
])("a program that %s is an error", async (_what, events, message) => {
  await expect(outputOf(of(...events))).rejects.toThrow(message);
});
