import type { Context } from "./context.ts";

/** The lab that is about to be lost, as a question names it: /campus (3 nodes, 2 running). Throws LabwrightError where there is none. */
export async function labAtStake(context: Context): Promise<string> {
  const { selector } = await context.project();
  const { lab, live } = await (await context.client()).getProjectStatus(selector);
  if (live?.nodes === undefined) return lab;
  const running = live.nodes.filter(({ status }) => status === "running" || status === "starting").length;
  const count = live.nodes.length;
  return `${lab} (${count} node${count === 1 ? "" : "s"}, ${running === 0 ? "none" : running} running)`;
}
