import type { Duplex } from "node:stream";
import { type OperationId, operations } from "../contract/operations.ts";
import { Caller, type ConnectOptions } from "./caller.ts";
import { resumingEvents } from "./events.ts";
import { type JobMethods, jobMethods } from "./jobs.ts";
import { jsonLines } from "./lines.ts";
import type { CallOptions, InputOf, Methods, Stream } from "./methods.ts";
import { type RemoteProcess, remoteProcess } from "./programs/process.ts";

export interface LabwrightClient extends Methods, JobMethods, Disposable, AsyncDisposable {
  /** Base URL of the service. */
  readonly url: string;
  /** The bearer token in use. */
  readonly token: string | undefined;
  /** Attaches to a console and opens its stream of raw bytes. The stream begins with the recent scrollback. */
  openConsole(input: InputOf<"attachConsole"> & { readonly node: string }, options?: CallOptions): Promise<Duplex>;
  /** Starts an interactive program in a node, such as a shell. */
  openProcess(input: InputOf<"attachProcess">, options?: CallOptions): Promise<RemoteProcess>;
  /** Copies files out of or into a node: a program whose output or input is a tar archive. An archive of a node is not to be trusted. */
  openCopy(input: InputOf<"copyFiles">, options?: CallOptions): Promise<RemoteProcess>;
  /** Opens the packets of a capture as one pcapng: first the existing packets, then each new one. */
  openCapture(input: InputOf<"attachCapture">, options?: CallOptions): Promise<Duplex>;
  /** Opens the live traffic of a lab: one decoded packet per item. */
  openTraffic(input: InputOf<"attachTraffic">, options?: CallOptions): Promise<Stream<Readonly<Record<string, unknown>>>>;
  /** Closes idle connections and ends running calls. Does not log out: the token stays valid. Open consoles stay open. */
  close(): void;
}

/**
 * Returns a client of the service with one method per operation. It sends nothing before the first call.
 * Throws LabwrightError with tls_required for a URL that is not https.
 */
export function connect(options: ConnectOptions): LabwrightClient {
  const caller = new Caller(options);
  const methods = Object.fromEntries(
    (Object.keys(operations) as OperationId[]).map((id) => [
      id,
      (input: object = {}, callOptions?: CallOptions) => caller.call(id, input as Readonly<Record<string, unknown>>, callOptions),
    ]),
    // The table is the only list of operations: each id has a method of the type that Methods derives from the same table.
  ) as unknown as Methods;

  return {
    ...methods,
    events: (input = {}, callOptions = {}) =>
      resumingEvents((after, signal) => methods.events({ ...input, after }, { ...callOptions, signal }), input.after, callOptions),
    get url() {
      return caller.url;
    },
    get token() {
      return caller.token;
    },
    openConsole: async (input, callOptions) => {
      const { stream } = await methods.attachConsole(input, callOptions);
      return await methods.streamConsole({ ticket: stream ?? "" }, callOptions);
    },
    openProcess: async (input, callOptions) => {
      const { node, stream } = await methods.attachProcess(input, callOptions);
      return remoteProcess(node, await methods.streamProcess({ ticket: stream }, callOptions));
    },
    openCopy: async (input, callOptions) => {
      const { node, stream } = await methods.copyFiles(input, callOptions);
      return remoteProcess(node, await methods.streamProcess({ ticket: stream }, callOptions));
    },
    openCapture: async (input, callOptions) => {
      const { stream } = await methods.attachCapture(input, callOptions);
      return await methods.streamCapture({ ticket: stream }, callOptions);
    },
    openTraffic: async (input, callOptions) => {
      const { stream } = await methods.attachTraffic(input, callOptions);
      const connection = await methods.streamTraffic({ ticket: stream }, callOptions);
      const lines = jsonLines<Readonly<Record<string, unknown>>>(connection);
      return { [Symbol.asyncIterator]: () => lines, [Symbol.dispose]: () => void connection.destroy() };
    },
    ...jobMethods(
      (id, input, callOptions, headers) => caller.call(id, input as Readonly<Record<string, unknown>>, callOptions, headers),
      methods.getJob,
      methods.getPublicProject,
    ),
    close: () => caller[Symbol.dispose](),
    [Symbol.dispose]: () => caller[Symbol.dispose](),
    [Symbol.asyncDispose]: async () => caller[Symbol.dispose](),
  };
}
