export interface CaptureLimits {
  /** That run at once in a lab. */
  readonly runningPerLab: number;
  /** That a lab has, those that have ended included. */
  readonly keptPerLab: number;
  /** Of one capture on disk: the ring of files. */
  readonly ringBytes: number;
  /** Of all captures of the host, those that run counted with all that they may come to. */
  readonly hostBytes: number;
  /** How long a capture runs at most, seconds. */
  readonly maxSeconds: number;
  /** How long the packets of one that has ended are kept, ms. */
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
