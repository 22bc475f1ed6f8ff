/** A step of the heat map: links with at least this rate are drawn so. */
export interface HeatStep {
  /** bit/s, both directions together. */
  readonly from: number;
  readonly label: string;
  readonly color: string;
  /** Width on the screen, px: rates differ without colours, too. */
  readonly width: number;
}

/** From cold to hot. Each colour is visible in both themes. */
export const heatSteps: readonly HeatStep[] = [
  { from: 1, label: "below 10 kbit/s", color: "#4c86d8", width: 3 },
  { from: 1e4, label: "10 kbit/s", color: "#0d95b3", width: 4.5 },
  { from: 1e5, label: "100 kbit/s", color: "#2f9e44", width: 6 },
  { from: 1e6, label: "1 Mbit/s", color: "#b08900", width: 8 },
  { from: 1e7, label: "10 Mbit/s", color: "#e8590c", width: 10 },
  { from: 1e8, label: "100 Mbit/s", color: "#d6336c", width: 12 },
];

/** Returns the step of a rate; undefined without traffic. */
export function heatStep(bits: number): HeatStep | undefined {
  return heatSteps.findLast(({ from }) => bits >= from);
}
