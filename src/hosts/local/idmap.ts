/**
 * The outside ids that a lab's user namespace maps its own 0, 1, 2 … to when the host runs as root. Root file systems are owned by
 * this range, so one range serves every lab; nothing else of the machine owns files in it.
 */
export const idRange = { base: 1_000_000, count: 65_536 } as const;
