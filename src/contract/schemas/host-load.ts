import Type, { type Static } from "typebox";
import { integer, list, number, optionalInteger, optionalText, text, time } from "./shapes.ts";

/**
 * Percentages are 0 to 100 of the machine's total. disk: of the file system that holds the labs. version: of the host's software, if it has its own.
 * nodes: how many run, of all users, by type; types without a running node may be left out.
 */
export const HostLoadData = Type.Object({
  host: text,
  version: optionalText,
  taken_at: time,
  cpu_percent: number,
  memory_percent: number,
  disk_percent: number,
  swap_percent: Type.Optional(number),
  /** Processors, and bytes of memory. */
  cpus: optionalInteger,
  memory_bytes: optionalInteger,
  nodes: list(Type.Object({ type: text, running: integer })),
});
export type HostLoadData = Static<typeof HostLoadData>;
