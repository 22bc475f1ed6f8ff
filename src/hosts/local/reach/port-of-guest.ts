import { Duplex } from "node:stream";
import { Failure } from "../../../contract/errors.ts";
import type { NodeProcess } from "../../host-processes.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

/**
 * Connects with a TCP port on the loopback address of a node with a kernel of its own. A program of the node makes the connection, because the machine's kernel
 * does not have the node's addresses. Throws node_not_running.
 */
export async function connectGuest(sandbox: Pick<Sandbox, "process">, node: number, port: number): Promise<Duplex> {
  const ended = new AbortController();
  const argv = ["socat", "-t", "3600", "-", `TCP:127.0.0.1:${port}`];
  const process = await sandbox.process(node, { argv }, ended.signal);
  const items = process.output[Symbol.asyncIterator]();
  const stream = new Duplex({
    read: () =>
      void nextOutput(items).then(
        (data) => stream.push(data),
        (error: Error) => stream.destroy(error),
      ),
    write: (bytes: Buffer, _encoding, done) => void Promise.resolve(process.write(bytes)).then(() => done(), done),
    final: (done) => {
      process.endInput();
      done();
    },
    destroy: (error, done) => {
      ended.abort();
      done(error);
    },
  });
  return stream;
}

/** Returns the next bytes; null at the end. Throws host_error if there was no connection. */
async function nextOutput(items: AsyncIterator<Awaited<ReturnType<OutputOf["next"]>>["value"]>): Promise<Buffer | null> {
  for (;;) {
    const { value, done } = await items.next();
    if (done === true || value === undefined) return null;
    if (value.stream === "stdout") return value.data;
    if (value.stream === "end" && value.exitCode === 0) return null;
    if (value.stream === "end") throw new Failure("host_error", "the connection to the node's port broke, or nothing listens there");
  }
}
type OutputOf = ReturnType<NodeProcess["output"][typeof Symbol.asyncIterator]>;
