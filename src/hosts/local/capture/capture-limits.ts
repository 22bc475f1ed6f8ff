export interface CaptureLimits {
  /** Maximum number of running captures of a lab. */
  readonly runningPerLab: number;
  /** Maximum number of captures of a lab, including ended ones. */
  readonly keptPerLab: number;
  /** Maximum size of the file ring of one capture, bytes. */
  readonly ringBytes: number;
  /** Maximum size of all captures of the host, bytes. A running capture counts with the size of its full ring. */
  readonly hostBytes: number;
  /** Maximum duration of a capture, seconds. */
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

/** Returns the number and size of the ring's files. They are small, so that little is lost when the oldest is removed. */
export const ringFiles = 8;
