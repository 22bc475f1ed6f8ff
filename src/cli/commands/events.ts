import type { Command } from "../command/command.ts";
import { onlyLab, onlyLabFlags } from "../parts/only-lab.ts";
import { showEvent } from "../show/show-event.ts";

export const events: Command = {
  name: "events",
  summary: "What happens in your labs, as it happens, until Ctrl-C",
  details:
    "Nodes that start and stop, links whose quality changes, labs that come and go, changes and their steps. A connection that breaks is made " +
    "again after the last event. With --format json one object a line.",
  flags: [
    ...onlyLabFlags("Only events"),
    {
      long: "type",
      value: "TYPE",
      multiple: true,
      choices: ["node", "link", "lab", "job", "capture"],
      summary: "Only these; repeatable, or a comma list",
    },
    { long: "after", value: "ID", summary: "Begin after the event with this id, as --format json shows it" },
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
