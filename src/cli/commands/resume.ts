import type { InputOf } from "../../client/index.ts";
import { type Command, labFlag, timeoutFlag, topoFlag } from "../command/command.ts";
import { runChange } from "../parts/change.ts";

const policies = ["always", "never", "default"] as const;

export const resume: Command = {
  name: "resume",
  summary: "Start again the nodes that ended when the machine went down, or with their lab",
  details:
    "Nodes that were stopped before stay stopped. --after-reboot says instead whether they come back by themselves from now on, when the\n" +
    "service starts: always, never, or default, which is what labwright serve --resume says.",
  flags: [
    topoFlag,
    labFlag,
    { long: "after-reboot", value: "POLICY", choices: policies, summary: "Only set whether they come back by themselves, start none now" },
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
          `${lab}: what runs when the machine goes down ${set === "always" ? "comes back by itself" : "stays stopped"}${own ? "" : ", as the service's default says"}`,
      );
      return 0;
    }
    const data = await runChange(context, "resumeLab", selector, { what: `resume ${title}`, timeoutMs: args.milliseconds("timeout") });
    context.result(data, ({ started }) =>
      started === 0 ? "nothing waits to come back" : `${started} node${started === 1 ? "" : "s"} started again`,
    );
    return 0;
  },
};
