import type { InputOf } from "../../client/index.ts";
import { type Command, labFlag, timeoutFlag, topoFlag } from "../command/command.ts";
import { runChange } from "../parts/change.ts";

const policies = ["always", "never", "default"] as const;

export const resume: Command = {
  name: "resume",
  summary: "Start the nodes again that ended because the machine went down or their lab was killed",
  details:
    "Nodes that were stopped before stay stopped. --after-reboot starts no node, but sets whether such nodes start with the service after each reboot:\n" +
    "always, never, or default, which is the setting of labwright serve --resume.",
  flags: [
    topoFlag,
    labFlag,
    { long: "after-reboot", value: "POLICY", choices: policies, summary: "Only set whether nodes start after a reboot" },
    timeoutFlag,
  ],
  example: "labwright resume --after-reboot always",
  run: async (context, args) => {
    const { selector, title } = await context.project();
    const policy = args.text("after-reboot");
    if (policy !== undefined) {
      const client = await context.client();
      const data = await client.setLabResume({ ...selector, resume: policy as InputOf<"setLabResume">["resume"] });
      context.result(
        data,
        ({ lab, resume: set, own }) =>
          `${lab}: nodes that run when the machine goes down ${set === "always" ? "start again after the reboot" : "stay stopped"}${own ? "" : " (the service's default)"}`,
      );
      return 0;
    }
    const data = await runChange(context, "resumeLab", selector, { what: `resume ${title}`, timeoutMs: args.milliseconds("timeout") });
    context.result(data, ({ started }) =>
      started === 0 ? "no node waits for a start" : `${started} node${started === 1 ? "" : "s"} started again`,
    );
    return 0;
  },
};
