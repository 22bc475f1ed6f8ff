/** The service's source of time. */
export interface Clock {
  /** ms since the epoch. */
  readonly now: () => number;
  /** ms since any moment, without the time that the machine slept, and not changed when the clock is set. Default: that of the process. */
  readonly uptime?: () => number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** RFC 3339, UTC. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
