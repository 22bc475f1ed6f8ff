export interface CaptureLimits {
  /** Captures that run at once in a lab. */
  readonly runningPerLab: number;
  /** Captures of a lab, ended ones included. */
  readonly keptPerLab: number;
  /** Bytes of the ring of files of one capture. */
  readonly ringBytes: number;
  /** Bytes of all captures of the host. A running capture counts with the size of its full ring. */
  readonly hostBytes: number;
  /** Duration of a capture, seconds. */
  readonly maxSeconds: number;
  /** How long the packets of an ended capture are kept, ms. */
  readonly keptMs: number;
}

export const captureLimits: CaptureLimits = {
  runningPerLab: 16,
  keptPerLab: 64,
  ringBytes: 64 << 20,
  hostBytes: 8 * 2 ** 30,
  maxSeconds: 24 * 3600,
  keptMs: 7 * 24 * 3_600_000,
};

/** The ring's files: small enough that little is lost when the oldest goes. */
export const ringFiles = 8;
