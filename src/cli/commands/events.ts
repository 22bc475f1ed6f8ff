import type { Command } from "../command/command.ts";
import { onlyLab, onlyLabFlags } from "../parts/only-lab.ts";
import { showEvent } from "../show/show-event.ts";

export const events: Command = {
  name: "events",
  summary: "Show the events of your labs as they happen, until Ctrl-C",
  details:
    "Shows nodes that start and stop, links whose quality changes, created and removed labs, and changes with their steps. After a lost connection the " +
    "events continue from the last one. --type presence shows who looks at the lab, and shows you to them. With --format json each line is one object.",
  flags: [
    ...onlyLabFlags("Only events"),
    {
      long: "type",
      value: "TYPE",
      multiple: true,
      choices: ["node", "link", "lab", "job", "capture", "presence"],
      summary: "Only these types; repeatable, or a comma list",
    },
    { long: "after", value: "ID", summary: "Begin after the event with this id; --format json shows the ids" },
  ],
  example: "labwright events --lab /campus --type node,job",
  run: async (context, args) => {
    const { terminal } = context;
    const client = await context.client();
    const types = args.list("type").join(",");
    const input = { lab: await onlyLab(context, args, client), types: types === "" ? undefined : types, after: args.text("after") };
    using stream = await client.events(Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)));
    const end = () => stream[Symbol.dispose]();
    process.once("SIGINT", end).once("SIGTERM", end);
    try {
      for await (const event of stream) {
        if (event.type === "heartbeat") continue;
        terminal.print(context.json ? JSON.stringify(event) : showEvent(terminal.paint, event));
      }
    } finally {
      process.off("SIGINT", end).off("SIGTERM", end);
    }
    return 0;
  },
};
