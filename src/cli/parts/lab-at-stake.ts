import type { Context } from "../command/context.ts";
import { originText, otherOrigin } from "./take-over.ts";

/** The lab that is about to be lost, as a question names it: /campus (3 nodes, 2 running). Throws LabwrightError where there is none. */
export async function labAtStake(context: Context): Promise<string> {
  const project = await context.project();
  const status = await (await context.client()).getProjectStatus(project.selector);
  const { lab, live } = status;
  const other = otherOrigin(status, project);
  const whose = other === undefined ? "" : `, last changed from ${originText(other)}`;
  if (live?.nodes === undefined) return `${lab}${whose}`;
  const running = live.nodes.filter(({ status }) => status === "running" || status === "starting").length;
  const unknown = live.nodes.filter(({ status }) => status === "unknown").length;
  const count = live.nodes.length;
  const states = [`${running === 0 ? "none" : running} running`, ...(unknown === 0 ? [] : [`${unknown} unknown`])];
  return `${lab} (${count} node${count === 1 ? "" : "s"}, ${states.join(", ")})${whose}`;
}
