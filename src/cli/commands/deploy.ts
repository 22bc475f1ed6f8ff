import { inNaturalOrder } from "../../base/natural-order.ts";
import { nodeKey } from "../../base/node-key.ts";
import { LabwrightError } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import { approve } from "../command/ask.ts";
import { type Command, fileOperand, labFlag, noWaitFlag, topoFlag, waitTimeoutFlag, yesFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { labSource } from "../command/lab-source.ts";
import { labFlags } from "../command/project.ts";
import { withHint } from "../command/with-hint.ts";
import { runChange } from "../parts/change.ts";
import { labAtStake } from "../parts/lab-at-stake.ts";
import { noteOtherLabs } from "../parts/labs-of-file.ts";
import { reportingFailures, waitAndReport } from "../parts/node-troubles.ts";
import { mayTakeOver, removeOtherFlag } from "../parts/take-over.ts";
import { nodesThatShouldRun } from "../parts/wait-for-nodes.ts";
import { checkOffline } from "../project-files/offline-check.ts";
import { makePlan, showPlanOf } from "./plan.ts";

/** Adds a hint to lab_not_found: the path has a lab of another user, or the command has no file. */
export function pathIsTaken(error: unknown): never {
  const isTaken = error instanceof LabwrightError && error.data?.path !== undefined;
  return withHint(
    "lab_not_found",
    isTaken
      ? "that path belongs to another user: --lab /PATH/OF/YOURS gives the lab another path"
      : "-t FILE names the lab's file; with --lab alone, commands mean a lab that exists",
  )(error);
}

export const deploy: Command = {
  name: "deploy",
  summary: "Create a lab on the host and start it",
  ...fileOperand,
  details:
    "An existing lab is not changed (lab_exists): change it with apply, or recreate it with --replace. deploy waits until the nodes are up. Exit code 1:\n" +
    "the lab exists, but a node has failed or is not ready in time. The last lines of a failed node's log are on stderr.",
  flags: [
    topoFlag,
    labFlag,
    { long: "replace", summary: "Stop, wipe and delete an existing lab first; asks first unless --yes is given" },
    { long: "reconfigure", short: "c", summary: "The same as --replace" },
    { long: "dry-run", summary: "Only show the plan" },
    yesFlag,
    { ...removeOtherFlag, summary: "With --replace: replace a lab whose last change came from another file; --yes alone does not" },
    noWaitFlag,
    waitTimeoutFlag,
  ],
  readsText: true,
  example: "labwright deploy -t campus.lw.yml",
  run: async (context, args) => {
    if (args.has("dry-run")) return await showPlanOf(context, args, "to_host", { deploying: true });
    const project = await context.project();
    checkOffline(context, project);
    const replace = args.has("replace") || args.has("reconfigure");
    if (replace && !(await mayReplace(context, args))) return 1;
    const data = await runChange(
      context,
      "deployProject",
      {
        ...project.selector,
        ...(replace ? { replace: true } : {}),
        ...(project.origin === undefined ? {} : { origin: project.origin }),
        ...(await labSource(project.file)),
      },
      { what: `deploy ${project.title}`, timeoutMs: args.milliseconds("timeout") },
    )
      .catch(pathIsTaken)
      .catch(reportingFailures(context, project));
    context.result(data, ({ lab, nodes, links, unsupported, placement, image_fetches: fetches = [] }) =>
      [
        `deployed ${lab}${placement === undefined ? "" : ` on ${placement.machine}`}: ${counted(nodes, "node")}, ${counted(links, "link")}`,
        ...fetches.map(({ image, machine }) => `image ${image} came from machine ${machine}`),
        ...(unsupported ?? []).map((text) => `unsupported: ${text}`),
      ].join("\n"),
    );
    await noteOtherLabs(context, data.lab ?? project.title).catch(onlyFailure);
    if (args.has("no-wait")) {
      if (!context.json) context.terminal.note(`labwright status ${labFlags(project)} --watch shows the start of the nodes`);
      return 0;
    }
    const began = Date.now();
    const { status, up } = await waitAndReport(context, project, args.milliseconds("timeout"));
    const names = inNaturalOrder(nodesThatShouldRun(status), nodeKey).map(nodeKey);
    if (up && names.length > 0 && !context.json) context.terminal.print(`ready: ${names.join(" ")} (${seconds(began)} s)`);
    return up ? 0 : 1;
  },
};

/** The lab is deployed: if the labs cannot be listed, the note is left out. */
function onlyFailure(error: unknown): void {
  if (!(error instanceof LabwrightError)) throw error;
}

/** Asks before an existing lab is deleted. With --yes it asks only if the lab's last change came from another file. */
async function mayReplace(context: Context, args: Arguments): Promise<boolean> {
  const plan = await makePlan(context, args);
  if (plan.exists !== true) return true;
  if (args.has("yes")) return await mayTakeOver(context, args, plan, await context.project(), { removes: true });
  const question = async () => `Delete the lab ${await labAtStake(context)} with its disks and recreate it?`;
  return await approve(context.terminal, question, false);
}

function seconds(began: number): string {
  return ((Date.now() - began) / 1000).toFixed(1);
}

function counted(count: number | undefined, what: string): string {
  return `${count ?? 0} ${what}${count === 1 ? "" : "s"}`;
}
