import { type Command, labFlag, topoFlag } from "../command/command.ts";

export const tasks: Command = {
  name: "tasks",
  summary: "Show the tasks that a lab's author wrote on the host",
  details: "Prints the text without control characters. EVE-NG shows the same text as Markdown beside the lab.",
  flags: [topoFlag, labFlag],
  example: "labwright tasks --lab /courses/bgp-1",
  run: async (context) => {
    const { selector } = await context.project();
    const data = await (await context.client()).getTasks(selector);
    if (data.text === "") context.terminal.note(`${data.lab} has no tasks`);
    if (context.json || data.text !== "") context.terminal.print(context.json ? JSON.stringify(data, null, 2) : data.text);
    return 0;
  },
};
