/** Programs in nodes. The feature is `nodeExec`. */
export interface HostProcesses {
  /**
   * Starts a program in a running node, with the node's confinement. Throws lab_not_found, node_not_found, node_not_running, and
   * unsupported for nodes that have only a console.
   * @param signal ends the program
   */
  start(lab: string, nodeId: string, program: NodeProgram, signal: AbortSignal): Promise<NodeProcess>;
}

export interface NodeProgram {
  /** The program and its arguments. No shell reads them. */
  readonly argv: readonly string[];
  /** Added to the node's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Work directory. */
  readonly cwd?: string;
  /** The program and all processes of its session are killed after this time. Absent: never. */
  readonly timeoutMs?: number;
  /** Its input depends on its output, so both must flow while it runs. Absent: the input may be collected first. */
  readonly conversation?: true;
  /** Gives the program a terminal of its own. Then all output is `stdout`. */
  readonly terminal?: WindowSize;
}

export interface WindowSize {
  readonly columns: number;
  readonly rows: number;
}

export interface NodeProcess {
  /**
   * The output as it comes, and at last the end. Can be read once. A program whose output is not read waits. Leaving the loop ends the program. Throws
   * host_error or host_timeout if the connection to the program breaks.
   */
  readonly output: AsyncIterable<ProcessOutput | ProcessEnd>;
  /** Reads the output in the place of `output`, at less cost for much output. Absent: the host has only `output`. */
  readonly listen?: (each: (item: ProcessOutput | ProcessEnd) => void) => ProcessListening;
  /**
   * Writes to standard input. Returns a promise if the program is behind: it resolves when more can be written. The memory of `bytes` may be reused after
   * the call. Input for a program that has ended is dropped.
   */
  write(bytes: Uint8Array): Promise<void> | undefined;
  /** Ends standard input. */
  endInput(): void;
  resize(size: WindowSize): void;
  /** Sends a signal to the program's process group. */
  signal(number: number): void;
  /** Ends the program, if it still runs. */
  close(): void;
}

/** Output that is passed to a function. The memory of its data is reused after each call. */
export interface ProcessListening {
  /** Resolves after the end of the program was passed on. Rejects if the connection to the program breaks, as `output` throws. */
  readonly ended: Promise<void>;
  /** Holds the program back. Some output may still come. */
  pause(): void;
  resume(): void;
}

export interface ProcessOutput {
  readonly stream: "stdout" | "stderr";
  readonly data: Buffer;
}

export interface ProcessEnd {
  readonly stream: "end";
  /** Absent if a signal ended the program. */
  readonly exitCode?: number;
  /** Number of the signal that ended the program. */
  readonly signal?: number;
  /** timeout: killed after `timeoutMs`; stopped: ended by the stop of its node. */
  readonly reason?: "timeout" | "stopped";
}
