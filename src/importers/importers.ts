import { virl } from "./formats/virl/virl.ts";
import type { Importer } from "./reading/importer.ts";

/** Every format, in the order in which messages list them. */
export const importers: readonly Importer[] = [virl];
