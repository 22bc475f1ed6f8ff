/** The service's source of time. */
export interface Clock {
  /** ms since the epoch. */
  readonly now: () => number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** RFC 3339, UTC. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
