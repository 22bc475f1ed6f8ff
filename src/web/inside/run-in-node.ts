import { LabwrightError } from "../../client/browser.ts";
import type { NodeExecEvent } from "../../contract/schemas/processes.ts";
import { call } from "../service/api.ts";

/** Maximum bytes of an output that the page reads. */
const maxBytes = 4 * 2 ** 20;
const timeoutMs = 20_000;

/**
 * Runs a program in a node and returns its standard output. Throws LabwrightError with the program's own message if it fails.
 * @param node key of the node
 */
export async function runInNode(lab: string, node: string, argv: readonly string[], signal: AbortSignal): Promise<string> {
  return outputOf(await call("execNodes", { lab, nodes: [node], argv, timeout_ms: timeoutMs, max_output_bytes: maxBytes }, { signal }));
}

/** Returns the standard output of a program that ran in one node. Throws LabwrightError if it failed, or if the events stop before its end. */
export async function outputOf(events: AsyncIterable<NodeExecEvent>): Promise<string> {
  const output = { stdout: "", stderr: "" };
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  let hasEnded = false;
  for await (const event of events) {
    const { type, stream, data, exit_code: code, error } = event;
    if (type === "output" && stream !== undefined && data !== undefined)
      output[stream] += decoders[stream].decode(
        Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)),
        { stream: true },
      );
    if (type === "failed") throw failed(error ?? "the program did not start");
    if (type !== "end") continue;
    hasEnded = true;
    if (code !== 0) throw failed(output.stderr.trim() || `the program ${endText(event)}`);
  }
  // Otherwise the page would show a part of a list as the whole list.
  if (!hasEnded) throw failed("the connection ended before the program: try again");
  return output.stdout;
}

function endText({ exit_code: code, reason, signal }: NodeExecEvent): string {
  if (reason === "timeout") return `did not end within ${timeoutMs / 1000} s`;
  if (reason === "output_limit") return `wrote more than ${maxBytes / 2 ** 20} MiB`;
  if (reason === "node_stopped") return "ended with its node";
  return code === undefined ? `was ended by ${signal ?? "a signal"}` : `ended with exit code ${code}`;
}

function failed(text: string): LabwrightError {
  return new LabwrightError(text, { status: 502, code: "host_error" });
}
