import { buildProgram } from "./build-program.ts";

/** Compiles the holder to `out` where it is missing or its sources changed. Throws an Error with the compiler's words. */
export function buildHolder({ out }: { readonly out: string }): Promise<{ readonly built: boolean }> {
  return buildProgram("holder", { out });
}
