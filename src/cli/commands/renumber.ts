import { approve } from "../command/ask.ts";
import { type Command, labFlag, timeoutFlag, topoFlag, yesFlag } from "../command/command.ts";
import { runChange } from "../parts/change.ts";
import { labAtStake } from "../parts/lab-at-stake.ts";

export const renumber: Command = {
  name: "renumber",
  summary: "Give a stopped lab node and network numbers that no other lab on the host has",
  details:
    "On EVE-NG Community Edition the numbers of nodes and networks determine console ports and bridges. Two labs of one user with the same numbers cannot\n" +
    "run at the same time. Only nodes and networks whose number another lab has get a new one. The disks of such nodes are deleted, because the host\n" +
    "stores them by number.",
  flags: [topoFlag, labFlag, yesFlag, timeoutFlag],
  example: "labwright renumber --lab /courses/bgp-1",
  run: async (context, args) => {
    const { selector, title } = await context.project();
    const question = async () =>
      `Renumber the nodes of ${await labAtStake(context)} whose number another lab has, and delete the disks of these nodes?`;
    if (!(await approve(context.terminal, question, args.has("yes")))) return 1;
    const data = await runChange(context, "renumberLab", selector, {
      what: `renumber ${title}`,
      timeoutMs: args.milliseconds("timeout"),
    });
    context.result(data, ({ lab, nodes, networks }) =>
      nodes.length + networks.length === 0
        ? `no other lab has the same numbers as ${lab}`
        : [
            ...nodes.map(({ node, before, after }) => `node ${node}: ${before} is now ${after}`),
            ...networks.map(({ network, before, after }) => `network ${network}: ${before} is now ${after}`),
          ].join("\n"),
    );
    return 0;
  },
};
