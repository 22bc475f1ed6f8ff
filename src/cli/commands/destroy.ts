import { LabwrightError } from "../../client/index.ts";
import { approve } from "../command/ask.ts";
import { type Command, type Flag, labFlag, timeoutFlag, topoFlag, yesFlag } from "../command/command.ts";
import { withHint } from "../command/with-hint.ts";
import { runChange } from "../parts/change.ts";
import { labAtStake } from "../parts/lab-at-stake.ts";
import { mayRemove, removeOtherFlag } from "../parts/take-over.ts";

const forceFlag: Flag = {
  long: "force",
  summary:
    "Destroy the lab even if another user of the host uses it, another lab has its id, or a node does not stop; nodes that keep running are listed",
};

export const destroy: Command = {
  name: "destroy",
  summary: "Remove a lab from the host, with the disks of its nodes",
  flags: [
    topoFlag,
    labFlag,
    { long: "no-wipe", summary: "Keep the nodes' disks and the lab's snapshots on the host" },
    forceFlag,
    yesFlag,
    removeOtherFlag,
    timeoutFlag,
  ],
  example: "labwright destroy -t campus.lw.yml --yes",
  run: async (context, args) => {
    const { selector, title } = await context.project();
    const keep = args.has("no-wipe");
    const question = async () => `Remove the lab ${await labAtStake(context)}${keep ? ", keeping its disks" : " with its disks"}?`;
    if (!(await approve(context.terminal, question, args.has("yes")))) return 1;
    // A question would name the other file. A lab that is named by its path needs no such question.
    if (args.has("yes") && !args.has("lab") && !(await mayRemove(context, args))) return 1;
    const data = await runChange(
      context,
      "destroyProject",
      { ...selector, ...(keep ? { wipe: false } : {}), ...(args.has("force") ? { force: true } : {}) },
      { what: `destroy ${title}`, timeoutMs: args.milliseconds("timeout") },
    ).catch(withDestroyHint);
    context.result(data, ({ lab }) => `destroyed ${lab}${keep ? "; labwright disks lists its disks" : ""}`);
    return 0;
  },
};

/** The usual hint of a failed change names the plan, which does not show the rest of a destroy. */
function withDestroyHint(error: unknown): never {
  // An error without a status is of the connection to the service, and has its own hint.
  const isOfHost = error instanceof LabwrightError && error.status !== 0;
  if (isOfHost && ["host_error", "host_timeout", "host_unreachable"].includes(error.code ?? ""))
    return withHint(
      error.code ?? "",
      "when the cause is removed, labwright destroy deletes the rest; labwright status shows the nodes",
    )(error);
  throw error;
}
