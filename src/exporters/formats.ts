import type { Lab } from "../intent/lab/lab.ts";
import { d2Text } from "./drawing/d2.ts";
import { dotText } from "./drawing/dot.ts";
import { drawioText } from "./drawing/drawio.ts";
import { mermaidText } from "./drawing/mermaid.ts";
import { svgText } from "./drawing/svg.ts";
import type { GraphFormat, LabFormat } from "./format-names.ts";
import type { Exported } from "./shared/exported.ts";
import { cmlOf } from "./tools/cml.ts";
import { containerlabOf } from "./tools/containerlab.ts";
import { gns3Of } from "./tools/gns3.ts";
import { unlOf } from "./tools/unl.ts";

const tools: Readonly<Record<LabFormat, (lab: Lab) => Exported>> = {
  containerlab: containerlabOf,
  unl: unlOf,
  gns3: gns3Of,
  cml: cmlOf,
};

/** Returns a lab in the language of another tool. */
export function exportLab(lab: Lab, format: LabFormat): Exported {
  return tools[format](lab);
}

const drawings: Readonly<Record<GraphFormat, (lab: Lab) => string>> = {
  svg: svgText,
  mermaid: mermaidText,
  d2: d2Text,
  drawio: drawioText,
  dot: dotText,
};

/** Returns a lab as a diagram. */
export function graphText(lab: Lab, format: GraphFormat): string {
  return drawings[format](lab);
}
