/** The effect of an action on a node, as a verb. */
export const disruptionText = {
  none: "disturbs no running node",
  link: "interrupts a link",
  restart: "restarts",
  stop: "stops",
  recreate: "is recreated",
} as const;
