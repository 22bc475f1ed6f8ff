import type { SpreadData } from "../../contract/schemas/plan.ts";
import type { SpreadFacts } from "../../hosts/host.ts";

/** Names of nodes and links that a line of a plan has at most. */
const maxNames = 8;

/** Returns where the nodes of a spread lab are, as a field of an answer. */
export function spreadData({ machines, cuts }: SpreadFacts): SpreadData {
  return {
    machines: machines.map(({ machine, nodes }) => ({ machine, nodes: [...nodes] })),
    links: cuts.map(({ link, machines: [from, to], mtu }) => ({ link, machines: [from, to], mtu })),
  };
}

/** The same as lines of a plan; empty for a lab that is not spread. */
export function spreadText(facts: SpreadFacts | undefined): string {
  if (facts === undefined) return "";
  const nodes = facts.machines.map(({ machine, nodes: keys }) => `  ${machine}: ${counted(keys.length, "node")} (${some(keys)})`);
  const links = facts.cuts.map(({ link, machines, mtu }) => `${link} (${machines.join(" to ")}, MTU ${mtu})`);
  const between = links.length === 0 ? [] : [`  between machines: ${counted(links.length, "new or changed link")}: ${some(links)}`];
  const uneven = facts.uneven.map(
    ({ node, mtu }) =>
      `  the links of ${node} have different MTUs: packets of more than ${mtu} bytes are lost there. Give all of them mtu: ${mtu}`,
  );
  return `\n${["Spread over machines:", ...nodes, ...between, ...uneven].join("\n")}\n`;
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

function some(names: readonly string[]): string {
  const shown = names.slice(0, maxNames).join(", ");
  return names.length <= maxNames ? shown : `${shown} and ${names.length - maxNames} more`;
}
