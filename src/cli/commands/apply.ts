import { LabwrightError, type ResultOf } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import { askYes } from "../command/ask.ts";
import { type Command, type ExitCode, fileOperand, labFlag, noWaitFlag, topoFlag, waitTimeoutFlag, yesFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { labSource } from "../command/lab-source.ts";
import { UsageError } from "../command/usage-error.ts";
import { explainBlocked } from "../parts/blocked.ts";
import { runChange } from "../parts/change.ts";
import { reportingFailures, waitAndReport } from "../parts/node-troubles.ts";
import { mayTakeOver, takeOverFlag } from "../parts/take-over.ts";
import {
  allowHint,
  extrasText,
  hasChanges,
  isLeftUndone,
  obstacles,
  type Plan,
  showPlan,
  stopsNodes,
  unchangedText,
} from "../show/show-plan.ts";
import { allowUnsupportedFlag, makePlan, pruneFlag, showPlanOf } from "./plan.ts";

export const apply: Command = {
  name: "apply",
  aliases: ["reconcile"],
  summary: "Make the host match the file: show the plan, ask, apply",
  ...fileOperand,
  details:
    "apply does exactly what the shown plan contains. If the lab has changed meanwhile, apply changes nothing (plan_stale). With --no-confirm it applies\n" +
    "only changes that disturb no running node; exit code 2 means that other changes are left. Otherwise it waits until the nodes are up. Exit code 1: a\n" +
    "node has failed or is not ready in time. The last lines of a failed node's log are on stderr.",
  flags: [
    topoFlag,
    labFlag,
    pruneFlag,
    allowUnsupportedFlag,
    yesFlag,
    takeOverFlag,
    { long: "no-confirm", summary: "Do not ask, and stop no node, even with --yes: apply only changes that are safe for running nodes" },
    { long: "dry-run", summary: "Only show the plan" },
    noWaitFlag,
    waitTimeoutFlag,
  ],
  readsText: true,
  example: "labwright apply -t campus.lw.yml",
  run: async (context, args) => {
    if (args.has("dry-run")) return await showPlanOf(context, args, "to_host");
    const code = await applyProject(context, args);
    // If changes still wait for approval, the nodes may not become ready without them.
    if (code !== 0 || args.has("no-wait")) return code;
    const { up } = await waitAndReport(context, await context.project(), args.milliseconds("timeout"));
    return up ? code : 1;
  },
};

/** Plans, asks and applies. With --format json the plan is written to stderr. @param options.silent the result is not printed */
export async function applyProject(
  context: Context,
  args: Arguments,
  options: { readonly silent?: boolean; readonly allowUnsupported?: boolean } = {},
): Promise<ExitCode> {
  const { terminal } = context;
  const show = context.json ? terminal.note : terminal.print;
  const allowUnsupported = options.allowUnsupported ?? args.has("allow-unsupported");
  const plan = await makePlan(context, args, { allowUnsupported });
  if (hasChanges(plan)) show(showPlan(terminal.paint, plan));
  if (plan.applicable === false && (hasChanges(plan) || !isLeftUndone(plan))) {
    return await refuse(context, plan);
  }
  const project = await context.project();
  if (hasChanges(plan) && !(await mayTakeOver(context, args, plan, project))) {
    terminal.note("nothing was changed");
    return 1;
  }
  const confirm = hasChanges(plan) && (await decide(context, args, stopsNodes(plan)));
  if (confirm === "no") {
    terminal.note("nothing was changed");
    return 1;
  }
  const { selector, title, origin } = project;
  const data = await runChange(
    context,
    "reconcileProject",
    {
      ...selector,
      ...(args.has("prune") ? { prune: true } : {}),
      ...(allowUnsupported ? { allow_unsupported: true } : {}),
      ...(confirm === true ? { confirm: true } : {}),
      // Without changes no question was asked: the lab keeps its file, unless --take-over is given.
      ...(origin === undefined || !(hasChanges(plan) || args.has("take-over")) ? {} : { origin }),
      ...(await labSource(project.file)),
      ...(plan.plan_identity === undefined ? {} : { plan_identity: plan.plan_identity }),
    },
    { what: `apply ${title}`, timeoutMs: args.milliseconds("timeout"), isPlanned: hasChanges(plan) },
  ).catch(reportingFailures(context, project));
  if (options.silent !== true) context.result(data, (shown) => outcome(shown, plan));
  else for (const text of data.unsupported ?? []) terminal.note(`unsupported: ${text}`);
  if (data.status !== "pending_stop") return 0;
  terminal.note(`waiting for a confirmed apply, because nodes must stop: ${waiting(data.operations ?? [])}`);
  return 2;
}

/** Throws the problems that block the plan: mistakes in the file as validate shows them, other problems as the plan shows them. */
async function refuse(context: Context, plan: Plan): Promise<never> {
  const { mistakes, others } = await explainBlocked(context, plan.blocked ?? []);
  const rest = obstacles({ ...plan, blocked: others });
  if (mistakes.length > 0) {
    const more = rest.length === 0 ? "" : `\n  ${rest.join("\n  ")}`;
    const message = `${context.file?.name} has ${mistakes.length} error${mistakes.length === 1 ? "" : "s"}; nothing was changed${more}`;
    throw new LabwrightError(message, { status: 0, code: "invalid_intent", data: { diagnostics: mistakes } });
  }
  const hint = isLeftUndone(plan) ? allowHint : undefined;
  throw new UsageError(`nothing was changed: the plan cannot be applied\n  ${rest.join("\n  ")}`, hint);
}

/** Asks for approval. true: apply everything; false: apply only safe changes; "no": the user refused. */
async function decide(context: Context, args: Arguments, disruptive: boolean): Promise<boolean | "no"> {
  // If both flags are given, the more careful one counts.
  if (args.has("no-confirm")) return false;
  if (args.has("yes")) return true;
  if (context.terminal.interactive) {
    return (await askYes(context.terminal, disruptive ? "Apply this? Running nodes will stop" : "Apply this?")) ? true : "no";
  }
  if (!disruptive) return true;
  throw new UsageError(
    "nothing was changed: running nodes would stop, and there is no terminal to ask on",
    "--yes applies everything, --no-confirm only changes that disturb no running node",
  );
}

function waiting(operations: readonly { readonly kind: string; readonly key: string; readonly op: string }[]): string {
  return [...new Set(operations.map(({ op, kind, key }) => `${op} ${kind} ${key}`))].join(", ");
}

function outcome(
  { lab, status, applied, skippedPrune, fullDeploy, unsupported, placement, image_fetches: fetches = [] }: ResultOf<"reconcileProject">,
  plan: Plan,
): string {
  const extras = extrasText(skippedPrune);
  const done =
    status === "unchanged"
      ? unchangedText(plan, true)
      : `${fullDeploy === true ? "deployed" : "applied"} ${lab}${placement === undefined ? "" : ` on ${placement.machine}`}: ${applied} step${applied === 1 ? "" : "s"}${extras}`;
  const fetched = fetches.map(({ image, machine }) => `image ${image} came from machine ${machine}`);
  return [done, ...fetched, ...(unsupported ?? []).map((text) => `unsupported: ${text}`)].join("\n");
}
