import type { SerialRule } from "./plan.ts";

export interface SerialPort {
  readonly slot: number;
  readonly port: number;
}

/** Returns the slot and port of a serial interface, or undefined if the name is not one. */
export function serialPort(name: string, rule: SerialRule): SerialPort | undefined {
  const [, slot, port] = name.startsWith(rule.prefix) ? (/^(\d{1,3})\/(\d{1,2})$/.exec(name.slice(rule.prefix.length)) ?? []) : [];
  return slot === undefined ? undefined : { slot: Number(slot), port: Number(port) };
}
