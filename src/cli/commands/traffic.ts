import type { Arguments } from "../command/arguments.ts";
import { type Command, labFlag, topoFlag } from "../command/command.ts";
import { showPacket } from "../show/show-packet.ts";

export const traffic: Command = {
  name: "traffic",
  summary: "Show the packets on a lab's links as they pass, with the lab's names, until Ctrl-C",
  details:
    "Shows at most 1,000 packets per second. If there are more, a line per second shows how many. --filter names traffic filters of the lab's file, and\n" +
    "shows only packets that match one of them. With --format json each line is one object.",
  flags: [
    topoFlag,
    labFlag,
    { long: "node", value: "NODE", summary: "Only links of this node" },
    { long: "link", value: "LINK", summary: 'Only this link, as inspect names it: "r1:eth1 -- r2:eth1"' },
    {
      long: "filter",
      short: "f",
      value: "NAME",
      multiple: true,
      summary: "Only packets that match these traffic filters; repeatable, or a comma list",
    },
  ],
  example: "labwright traffic -t campus.lw.yml --node r1 --filter pings",
  run: async (context, args) => {
    const { terminal } = context;
    const { selector } = await context.project();
    const client = await context.client();
    using stream = await client.openTraffic({ ...selector, ...chosen(args) });
    let over = false;
    const end = () => {
      over = true;
      stream[Symbol.dispose]();
    };
    process.once("SIGINT", end).once("SIGTERM", end);
    terminal.note("Ctrl-C ends the display");
    try {
      for await (const line of stream) terminal.print(context.json ? JSON.stringify(line) : showPacket(terminal.paint, line));
    } catch (error) {
      // A connection that this command closes ends in the middle of a line.
      if (!over) throw error;
    } finally {
      process.off("SIGINT", end).off("SIGTERM", end);
    }
    return 0;
  },
};

function chosen(args: Arguments): { readonly node?: string; readonly link?: string; readonly filters?: readonly string[] } {
  const [node, link, filters] = [args.text("node"), args.text("link"), args.list("filter")];
  return { ...(node === undefined ? {} : { node }), ...(link === undefined ? {} : { link }), ...(filters.length === 0 ? {} : { filters }) };
}
