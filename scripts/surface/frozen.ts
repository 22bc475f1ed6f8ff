import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Surface } from "./surface.ts";

/** From the root of the project. */
export const frozenFile = "schema/v1.frozen.json";

/** What API v1 has promised until now. */
export async function frozenSurface(): Promise<Surface> {
  return JSON.parse(await readFile(join(import.meta.dirname, "../..", frozenFile), "utf8")) as Surface;
}

export function frozenText(surface: Surface): string {
  return `${JSON.stringify(surface, null, 1)}\n`;
}
