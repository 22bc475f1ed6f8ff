import type { Duplex, Readable } from "node:stream";

/** A stopped lab that goes to another machine of the fleet with its disks. */
export interface MovableLab {
  readonly lab: string;
  /** The host's id of the lab, which it keeps. */
  readonly id: string;
  /** Bytes of its files on disk. */
  readonly bytes: number;
  readonly nodes: readonly MovableNode[];
}

export interface MovableNode {
  readonly name: string;
  readonly template: string;
  readonly image?: string;
  readonly kernel?: "own";
  /** The image below the node's disk: its kind, and a digest. Absent: it has no disk, or its image is missing. */
  readonly base?: { readonly kind: "files" | "machine"; readonly digest: string };
}

export interface LeavingNote {
  readonly job: string;
  /** Keys of the nodes that run again if the lab stays. */
  readonly start: readonly string[];
}

/** A lab that has arrived, whole or in part, and is not a lab of this machine yet. */
export interface StagedLab {
  /** The job that moves it. */
  readonly job: string;
  readonly lab: string;
  readonly id: string;
  /** Keys of the nodes that run again when it is here. */
  readonly start: readonly string[];
  /** false: its bytes are not complete, or were not checked. */
  readonly isComplete: boolean;
  /** It is a lab of this machine now; its nodes have to be started. */
  readonly isAdopted: boolean;
}

export interface ReceivedBytes {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/** Labs on their way between machines of a fleet. Who owns a lab is decided by the caller. */
export interface HostMoves {
  /** Throws lab_not_found, nodes_running with `data.nodes`, and host_error for a lab whose definition cannot be read. */
  describe(lab: string): Promise<MovableLab>;
  /** Streams all files of a described lab. Nothing may change the lab until the stream has ended. The bytes have no order that a later stream repeats. */
  read(lab: string): Promise<Readable>;
  /** Notes on the disk that a job is about to give the lab away; undefined: none is. */
  setLeaving(lab: string, note: LeavingNote | undefined): Promise<void>;
  /** The labs with such a note, also of an earlier process. */
  leaving(): Promise<readonly (LeavingNote & { readonly lab: string })[]>;
  /** Removes a lab with its disks: another machine has it. */
  leave(lab: string): Promise<void>;
  /** Returns differences to the other machine that do not forbid the move, for people. Throws host_error and bad_request if the lab cannot be here. */
  check(lab: MovableLab): Promise<readonly string[]>;
  /** Writes the files of a lab beside the labs of this machine. Remains of an earlier move of the lab are removed. Throws host_error. */
  receive(staged: Pick<StagedLab, "job" | "lab" | "id" | "start">, bytes: AsyncIterable<Uint8Array>): Promise<ReceivedBytes>;
  /** The bytes are those that were sent: from now on they survive a loss of power. */
  complete(job: string): Promise<void>;
  staged(): Promise<readonly StagedLab[]>;
  /** Makes the files a lab of this machine, with one rename. */
  adopt(job: string): Promise<void>;
  /** Forgets a staged lab, and removes its files unless it was adopted. */
  drop(job: string): Promise<void>;
}

/** A call to a part of a lab on another machine of the fleet. Only machines can make it. */
export interface PartCall {
  readonly name: string;
  /** JSON. */
  readonly args: unknown;
}

/** The calls to the other machines of a fleet. */
export interface PartCalls {
  /**
   * Calls a machine by its number. Returns the facts of its answer, and a stream with the bytes of both sides behind the call and its answer. The caller ends or
   * destroys it. Throws the failure of the machine, machine_unreachable, and the signal's reason.
   */
  open(machine: number, call: PartCall, signal?: AbortSignal): Promise<{ readonly facts: unknown; readonly stream: Duplex }>;
}

/** The parts that this machine has of labs of other machines. */
export interface HostParts {
  /** The labs of other machines that have a part here. */
  labs(): readonly string[];
  /**
   * Answers a call of the machine with the number `from`.
   * @param input the bytes behind the call
   */
  answer(
    from: number,
    call: PartCall,
    input: Readable,
    signal: AbortSignal,
  ): Promise<{ readonly facts: unknown; readonly body?: Readable | undefined }>;
}
