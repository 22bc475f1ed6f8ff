import type { Context } from "../command/context.ts";
import { originText, otherOrigin } from "./take-over.ts";

/** Returns the description of a lab for a question: /campus (3 nodes, 2 running). Throws LabwrightError if there is no such lab. */
export async function labAtStake(context: Context): Promise<string> {
  const project = await context.project();
  const status = await (await context.client()).getProjectStatus(project.selector);
  const { lab, live } = status;
  const other = otherOrigin(status, project);
  const isUnmanaged = status.exists && status.right === undefined;
  const whose = isUnmanaged
    ? ", which this service has no record of"
    : other === undefined
      ? ""
      : `, last changed from ${originText(other)}`;
  if (live?.nodes === undefined) return `${lab}${whose}`;
  const running = live.nodes.filter(({ status }) => status === "running" || status === "starting").length;
  const unknown = live.nodes.filter(({ status }) => status === "unknown").length;
  const count = live.nodes.length;
  const states = [`${running === 0 ? "none" : running} running`, ...(unknown === 0 ? [] : [`${unknown} unknown`])];
  return `${lab} (${count} node${count === 1 ? "" : "s"}, ${states.join(", ")})${whose}`;
}
