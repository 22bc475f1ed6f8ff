import type { Readable } from "node:stream";
import type { InputOf, LabwrightClient, ResultOf } from "../../client/index.ts";

type ExecEvent = ResultOf<"execNodes"> extends AsyncIterable<infer Item> ? Item : never;

/**
 * Runs a program in one node, and sends it an input of any size as fast as it reads. Yields the events of execNodes.
 * @param maxOutputBytes the program is ended when it has written more
 */
export async function* execWithInput(
  client: LabwrightClient,
  input: InputOf<"attachProcess">,
  stdin: Readable,
  maxOutputBytes = Number.POSITIVE_INFINITY,
): AsyncGenerator<ExecEvent, void, undefined> {
  using program = await client.openProcess(input);
  const { node } = program;
  yield { type: "begin", nodes: [node] };
  const began = performance.now();
  let problem: unknown;
  const feeding = (async () => {
    for await (const chunk of stdin as AsyncIterable<Buffer>) await program.write(chunk);
    program.endInput();
  })().catch((error: unknown) => {
    problem = error;
    program[Symbol.dispose]();
  });
  let left = maxOutputBytes;
  try {
    for await (const item of program) {
      const duration_ms = Math.round(performance.now() - began);
      if (item.stream === "end") {
        const { stream: _stream, ...end } = item;
        yield { type: "end", node, ...end, duration_ms };
        return;
      }
      const data = item.data.subarray(0, left);
      if (data.length > 0) yield { type: "output", node, stream: item.stream, data: data.toString("base64") };
      left -= data.length;
      if (data.length < item.data.length) {
        yield { type: "end", node, signal: "SIGKILL", reason: "output_limit", duration_ms };
        return;
      }
    }
  } catch (error) {
    throw problem ?? error;
  } finally {
    // The program may end before its input: the rest is not read, and does not keep this process waiting.
    stdin.destroy();
    await feeding;
  }
}
