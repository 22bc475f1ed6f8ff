import type { Quality } from "./lab.ts";

/** Limits of each impairment: delay, jitter ms; loss %; bandwidth kbit/s (0 = unlimited). */
export const qualityLimits = { delay: 10_000, jitter: 10_000, loss: 100, bandwidth: 10_000_000 } as const;

export type QualityField = keyof typeof qualityLimits;

export const qualityFields = Object.keys(qualityLimits) as readonly QualityField[];

/** Typical links by name. Each value applies to both directions; a round trip has twice the delay. */
export const qualityPresets: Readonly<Record<string, Quality>> = {
  gprs: { delay: 500, jitter: 50, loss: 2, bandwidth: 50 },
  edge: { delay: 300, jitter: 40, loss: 1.5, bandwidth: 250 },
  "3g": { delay: 250, jitter: 30, loss: 1.5, bandwidth: 750 },
  dialup: { delay: 185, jitter: 20, loss: 2, bandwidth: 40 },
  dsl1: { delay: 70, jitter: 10, loss: 2, bandwidth: 2_000 },
  dsl2: { delay: 40, jitter: 5, loss: 0.5, bandwidth: 8_000 },
  wifi: { delay: 40, jitter: 10, loss: 0.2, bandwidth: 30_000 },
  wan1: { delay: 80, jitter: 5, loss: 0.2, bandwidth: 2_000 },
  wan2: { delay: 40, jitter: 2, loss: 0.1, bandwidth: 10_000 },
  satellite: { delay: 300, jitter: 20, loss: 0.5, bandwidth: 10_000 },
};
