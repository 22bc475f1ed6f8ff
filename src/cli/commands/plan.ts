import { nodeKey } from "../../base/node-key.ts";
import type { Arguments } from "../command/arguments.ts";
import { type Command, type ExitCode, fileOperand, labFlag, timeoutFlag, topoFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { showBlocked } from "../parts/blocked.ts";
import { labFlagHint } from "../parts/labs-of-file.ts";
import { originText, otherOrigin } from "../parts/take-over.ts";
import { maybeRunning } from "../parts/wait-for-nodes.ts";
import { checkOffline } from "../project-files/offline-check.ts";
import { Progress } from "../show/progress.ts";
import { unfinishedChange } from "../show/show-job.ts";
import { hasChanges, type Plan, showPlan, unchangedText } from "../show/show-plan.ts";
import { shortList } from "../show/table.ts";

export const allowUnsupportedFlag = {
  long: "allow-unsupported",
  summary: "Apply the rest if the host does not support something in the file",
} as const;
export const pruneFlag = {
  long: "prune",
  summary: "Also delete nodes, links and networks that are on the host but not in the file",
} as const;

export const plan: Command = {
  name: "plan",
  summary: "Show the changes that apply would make; exit code 2 if there are any",
  ...fileOperand,
  details:
    "Exit code 0: no changes of the host. 2: there are changes. 1: an error, or a plan that cannot be applied, because a change in it is blocked or the lab is locked\n" +
    "on the host.\n" +
    "If the host does not support something in the file, apply changes nothing unless --allow-unsupported is given; deploy leaves it out.",
  flags: [
    topoFlag,
    labFlag,
    pruneFlag,
    allowUnsupportedFlag,
    { long: "from-host", summary: "Show the changes that pull would make in the file" },
    timeoutFlag,
  ],
  readsText: true,
  example: "labwright plan -t campus.lw.yml",
  run: async (context, args) => await showPlanOf(context, args, args.has("from-host") ? "from_host" : "to_host"),
};

/** @param deploying the plan is of a deploy, which leaves out what the host does not support */
export async function showPlanOf(
  context: Context,
  args: Arguments,
  direction: "to_host" | "from_host",
  { deploying = false }: { readonly deploying?: boolean } = {},
): Promise<ExitCode> {
  const data = await makePlan(context, args, { direction, ...(deploying && { allowUnsupported: true }) });
  context.result(data, () =>
    hasChanges(data) || data.applicable === false ? showPlan(context.terminal.paint, data) : unchangedText(data, false),
  );
  if (direction === "to_host" && !context.json) await showBlocked(context, data.blocked ?? []);
  if (direction === "to_host" && !hasChanges(data)) await noteHidden(context);
  const other = direction === "to_host" && hasChanges(data) ? otherOrigin(data, await context.project()) : undefined;
  if (other !== undefined)
    context.terminal.note(`note: the last change of ${data.lab} came from ${originText(other)}: apply asks, or needs --take-over`);
  // A script must be able to distinguish a plan that cannot be applied from a plan with changes.
  if ((data.blocked ?? []).length > 0 || (hasChanges(data) && data.applicable === false)) return 1;
  return hasChanges(data) ? 2 : 0;
}

/** Notes what a plan without changes hides: a change that did not finish, and nodes with an unknown state, which may not run. */
async function noteHidden(context: Context): Promise<void> {
  const { selector } = await context.project();
  const status = await (await context.client()).getProjectStatus(selector);
  const broken = unfinishedChange(status);
  if (broken !== undefined) context.terminal.note(`note: ${broken}`);
  const unknown = maybeRunning(status).map(nodeKey);
  if (unknown.length > 0)
    context.terminal.note(`note: whether ${shortList(unknown)} run${unknown.length === 1 ? "s" : ""} is unknown: labwright status`);
}

export async function makePlan(
  context: Context,
  args: Arguments,
  options: { readonly direction?: "to_host" | "from_host"; readonly replace?: boolean; readonly allowUnsupported?: boolean } = {},
): Promise<Plan> {
  const project = await context.project();
  checkOffline(context, project);
  const client = await context.client();
  using _progress = new Progress(context.terminal, `plan ${project.title}`, { quiet: context.quiet });
  const data = await client.planProject(
    {
      ...project.selector,
      ...(args.has("prune") ? { prune: true } : {}),
      ...((options.allowUnsupported ?? args.has("allow-unsupported")) ? { allow_unsupported: true } : {}),
      ...(options.replace === true ? { replace: true } : {}),
      ...(options.direction === "from_host" ? { direction: "from_host" } : {}),
    },
    { timeoutMs: args.milliseconds("timeout") },
  );
  const hint = data.exists === false ? await labFlagHint(context) : undefined;
  if (hint !== undefined) context.terminal.note(`note: ${hint}, unless a second lab is wanted`);
  return data;
}
