import { LabwrightError } from "../../client/browser.ts";
import { call } from "../service/api.ts";

/** Maximum bytes of an output that the page reads. */
const maxBytes = 4 * 2 ** 20;
const timeoutMs = 20_000;

/**
 * Runs a program in a node and returns its standard output. Throws LabwrightError with the program's own message if it fails.
 * @param node key of the node
 */
export async function runInNode(lab: string, node: string, argv: readonly string[], signal: AbortSignal): Promise<string> {
  const events = await call("execNodes", { lab, nodes: [node], argv, timeout_ms: timeoutMs, max_output_bytes: maxBytes }, { signal });
  const output = { stdout: "", stderr: "" };
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  for await (const event of events) {
    const { type, stream, data, exit_code: code, reason, error } = event;
    if (type === "output" && stream !== undefined && data !== undefined)
      output[stream] += decoders[stream].decode(
        Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)),
        { stream: true },
      );
    if (type === "failed") throw failed(error ?? "the program did not start");
    if (type === "end" && code !== 0) throw failed(output.stderr.trim() || `the program ended with ${code ?? reason ?? "a signal"}`);
  }
  return output.stdout;
}

function failed(text: string): LabwrightError {
  return new LabwrightError(text, { status: 502, code: "host_error" });
}
