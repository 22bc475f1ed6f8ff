import { readFile } from "node:fs/promises";
import { elfNeeds } from "../src/hosts/local/setup/images/elf.ts";
import { type Processor, processors } from "./processors.ts";

/** Throws an Error if the file is not a static ELF program for the processor. */
export async function checkProgram(path: string, processor: Processor): Promise<void> {
  const bytes = await readFile(path);
  const needs = elfNeeds(bytes);
  if (needs === undefined) throw new Error(`${path} is not a 64-bit ELF program`);
  const machine = bytes.readUInt16LE(18);
  if (machine !== processors[processor].elfMachine) throw new Error(`${path} is for ELF machine ${machine}, not for ${processor}`);
  if (needs.interpreter !== undefined || needs.needed.length > 0)
    throw new Error(`${path} is not static: it needs ${needs.needed.join(", ")}`);
}
