import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Surface } from "./surface.ts";

/** The path from the root of the project. */
export const frozenFile = "schema/v1.frozen.json";

/** Returns the frozen surface of API v1. */
export async function frozenSurface(): Promise<Surface> {
  return JSON.parse(await readFile(join(import.meta.dirname, "../..", frozenFile), "utf8")) as Surface;
}

export function frozenText(surface: Surface): string {
  return `${JSON.stringify(surface, null, 1)}\n`;
}
