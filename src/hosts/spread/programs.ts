import { once } from "node:events";
import { Duplex, PassThrough, type Readable, type Writable } from "node:stream";
import { Failure } from "../../contract/errors.ts";
import type { HostConsole } from "../host.ts";
import type { NodeProcess, ProcessEnd, ProcessOutput } from "../host-processes.ts";
import { framesOf, writeFrame } from "./codec.ts";

/** Programs and consoles of nodes on another machine, in frames. */
const kind = { data: 0, stderr: 1, end: 2, resize: 3, signal: 4 } as const;

/** Serves a program: returns its output in frames. */
export function serveProcess(process: NodeProcess, input: Readable): Readable {
  const out = new PassThrough();
  out.once("close", () => process.close());
  void (async () => {
    for await (const { kind: of, data } of framesOf(input)) {
      if (of === kind.data) await process.write(data);
      else if (of === kind.end) process.endInput();
      else if (of === kind.resize) process.resize(JSON.parse(data.toString("utf8")) as never);
      else if (of === kind.signal) process.signal(data.readUInt8(0));
    }
    // The other machine has gone, unless the program has ended.
  })().catch(() => process.close());
  void (async () => {
    for await (const item of process.output) {
      const isBehind =
        item.stream === "end"
          ? !writeFrame(out, kind.end, JSON.stringify(item))
          : !writeFrame(out, item.stream === "stdout" ? kind.data : kind.stderr, item.data);
      if (isBehind && !out.destroyed) await once(out, "drain");
    }
    out.end();
  })().catch((error: Error) => out.destroy(error));
  return out;
}

/** The program that another machine serves. */
export function remoteProcess(stream: Duplex): NodeProcess {
  stream.on("error", () => undefined);
  return {
    output: outputOf(stream),
    write: (bytes) =>
      writeFrame(stream, kind.data, bytes) ? undefined : Promise.race([once(stream, "drain"), once(stream, "close")]).then(() => {}),
    endInput: () => void writeFrame(stream, kind.end),
    resize: (size) => void writeFrame(stream, kind.resize, JSON.stringify(size)),
    signal: (number) => void writeFrame(stream, kind.signal, Buffer.from([number])),
    close: () => void stream.destroy(),
  };
}

async function* outputOf(stream: Duplex): AsyncGenerator<ProcessOutput | ProcessEnd> {
  try {
    for await (const { kind: of, data } of framesOf(stream)) {
      if (of !== kind.end) {
        yield { stream: of === kind.stderr ? "stderr" : "stdout", data };
        continue;
      }
      stream.end();
      yield JSON.parse(data.toString("utf8")) as ProcessEnd;
      return;
    }
  } catch (error) {
    throw error instanceof Failure ? error : broken(error);
  } finally {
    stream.destroy();
  }
  throw broken();
}

function broken(cause?: unknown): Failure {
  return new Failure("host_error", "the connection to the node's machine ended before the program did", { cause });
}

/** Serves a console: its output as it is, its input in frames. */
export function serveConsole({ stream, resize }: HostConsole, input: Readable): Readable {
  const out = new PassThrough();
  stream.pipe(out);
  stream.once("error", (error) => out.destroy(error));
  out.once("close", () => stream.destroy());
  void (async () => {
    for await (const { kind: of, data } of framesOf(input)) {
      if (of === kind.data && !stream.write(data)) await once(stream, "drain");
      if (of === kind.resize) {
        const [columns, rows] = JSON.parse(data.toString("utf8")) as [number, number];
        resize?.(columns, rows);
      }
    }
    stream.destroy();
  })().catch(() => stream.destroy());
  return out;
}

/** The console that another machine serves. */
export function remoteConsole(stream: Duplex, recalled: number | undefined): HostConsole {
  const console = new Duplex({
    write: (bytes: Buffer, _encoding, done) => void (writeFrame(stream, kind.data, bytes) ? done() : stream.once("drain", () => done())),
    read: () => void stream.resume(),
    final: (done) => {
      stream.end();
      done();
    },
    destroy: (error, done) => {
      stream.destroy();
      done(error);
    },
  });
  stream.on("data", (bytes: Buffer) => void (console.push(bytes) || stream.pause()));
  stream.once("end", () => console.push(null));
  stream.once("error", (error) => console.destroy(error));
  stream.once("close", () => console.destroy());
  return {
    stream: console,
    ...(recalled !== undefined && { recalled }),
    resize: (columns, rows) => void writeFrame(stream as Writable, kind.resize, JSON.stringify([columns, rows])),
  };
}
