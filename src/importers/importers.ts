import { cml } from "./formats/cml/cml.ts";
import { containerlab } from "./formats/containerlab/containerlab.ts";
<<<<<<< HEAD
import { gns3 } from "./formats/gns3/gns3.ts";
import { dot } from "./formats/graphs/dot.ts";
import { mermaid } from "./formats/graphs/mermaid.ts";
import { kathara } from "./formats/kathara/kathara.ts";
import { netlab } from "./formats/netlab/netlab.ts";
=======
import { eve } from "./formats/eve/eve.ts";
>>>>>>> c9838e2f (importers: EVE-NG, PNETLab and UNetLab labs, CML 2 labs)
import { virl } from "./formats/virl/virl.ts";
import type { Importer } from "./reading/importer.ts";

/** Every format, in the order in which messages list them. */
<<<<<<< HEAD
export const importers: readonly Importer[] = [containerlab, virl, gns3, netlab, kathara, dot, mermaid];
=======
export const importers: readonly Importer[] = [containerlab, eve, cml, virl];
>>>>>>> c9838e2f (importers: EVE-NG, PNETLab and UNetLab labs, CML 2 labs)
