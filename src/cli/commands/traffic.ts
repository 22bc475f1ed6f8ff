import type { Arguments } from "../command/arguments.ts";
import { type Command, labFlag, topoFlag } from "../command/command.ts";
import { showPacket } from "../show/show-packet.ts";

export const traffic: Command = {
  name: "traffic",
  summary: "The packets that pass a lab's links, as they pass, in the lab's own words, until Ctrl-C",
  details:
    "At most 1,000 packets a second are shown; once a second a line tells how many there were where that is not all. --filter names traffic\n" +
    "filters of the lab's file: only packets that one of them takes. With --format json one object a line.",
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
      summary: "Only what these traffic filters take; repeatable, or a comma list",
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
    terminal.note("Ctrl-C ends it");
    try {
      for await (const line of stream) terminal.print(context.json ? JSON.stringify(line) : showPacket(terminal.paint, line));
    } catch (error) {
      // A connection that is cut here ends in the middle.
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
