import type { ConfigProblem } from "../../host-configs.ts";

/** The sections of a configuration that one daemon reads, as frr_copy in the image's frr-daemons has them. */
const sections: readonly (readonly [begin: RegExp, daemon: string])[] = [
  [/^router babel\b/, "babeld"],
  [/^bfd *$/, "bfdd"],
  [/^(router bgp|rpki)\b/, "bgpd"],
  [/^router eigrp\b/, "eigrpd"],
  [/^router openfabric\b/, "fabricd"],
  [/^router isis\b/, "isisd"],
  [/^(mpls ldp|l2vpn)\b/, "ldpd"],
  [/^router ospf6\b/, "ospf6d"],
  [/^router ospf\b/, "ospfd"],
  [/^pbr-map\b/, "pbrd"],
  [/^router ripng\b/, "ripngd"],
  [/^router rip\b/, "ripd"],
];

/**
 * Returns a problem for the first section of each daemon that will not run: FRR leaves out such sections without an error.
 * @param daemons the list of the node, with spaces or commas; "auto" or an empty text: those that the configuration uses
 */
export function missingDaemons(text: string, daemons: string): readonly ConfigProblem[] {
  const listed = daemons.split(/[\s,]+/).filter((word) => word !== "");
  if (listed.length === 0 || listed.includes("auto")) return [];
  const known = new Set(listed);
  return text.split(/\r?\n/).flatMap((line, at): readonly ConfigProblem[] => {
    const [, daemon] = sections.find(([begin]) => begin.test(line)) ?? [];
    if (daemon === undefined || known.has(daemon)) return [];
    known.add(daemon);
    return [
      {
        line: at + 1,
        column: 1,
        problem: `${daemon}, which reads this section, is not among the daemons of the node: FRR leaves the section out`,
        hint: `write daemons: "${[...listed, daemon].join(" ")}", or daemons: auto for those that the configuration uses`,
      },
    ];
  });
}
