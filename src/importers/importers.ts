import { cml } from "./formats/cml/cml.ts";
import { containerlab } from "./formats/containerlab/containerlab.ts";
import { eve } from "./formats/eve/eve.ts";
import { gns3 } from "./formats/gns3/gns3.ts";
import { dot } from "./formats/graphs/dot.ts";
import { mermaid } from "./formats/graphs/mermaid.ts";
import { kathara } from "./formats/kathara/kathara.ts";
import { netlab } from "./formats/netlab/netlab.ts";
import { virl } from "./formats/virl/virl.ts";
import { type FormatName, formatNames } from "./reading/format-names.ts";
import type { Importer } from "./reading/importer.ts";

const byName: Readonly<Record<FormatName, Importer>> = { containerlab, eve, cml, virl, gns3, netlab, kathara, dot, mermaid };

/** Every format, in the order in which messages list them. */
export const importers: readonly Importer[] = formatNames.map((name) => byName[name]);
