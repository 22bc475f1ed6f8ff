import { approve } from "../ask.ts";
import { runChange } from "../change.ts";
import { type Command, labFlag, timeoutFlag, topoFlag, yesFlag } from "../command.ts";

export const destroy: Command = {
  name: "destroy",
  aliases: ["down"],
  summary: "Remove a lab from the host; its nodes are wiped",
  flags: [topoFlag, labFlag, { long: "no-wipe", summary: "Keep the nodes' disks on the host" }, yesFlag, timeoutFlag],
  example: "labwright destroy -t campus.lw.yml --yes",
  run: async (context, args) => {
    const { selector, title } = await context.project();
    const keep = args.has("no-wipe");
    const question = keep ? `Remove the lab ${title}, keeping its disks?` : `Remove the lab ${title} with its disks?`;
    if (!(await approve(context.terminal, question, args.has("yes")))) return 1;
    const data = await runChange(
      context,
      "destroyProject",
      { ...selector, ...(keep ? { wipe: false } : {}) },
      { what: `destroy ${title}`, timeoutMs: args.milliseconds("timeout") },
    );
    context.result(data, ({ lab }) => `destroyed ${lab}`);
    return 0;
  },
};
