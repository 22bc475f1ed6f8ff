import { type KernelFeature, kernelFeatures } from "../../engine/model/kernel-features.ts";
import type { HostSession } from "../../hosts/host.ts";
import { byPlace, type Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import type { LabNode } from "../../intent/lab/lab.ts";
import type { WorkPart } from "../context/parts.ts";
import type { Intent } from "../work/intents.ts";

/** A feature of the kernel that a node uses, and the field that uses it. */
export interface KernelNeed {
  readonly feature: KernelFeature;
  readonly field: "startup-config" | "exec" | "attributes.daemons";
}

/** Problems of a lab that are reported at most. */
const maxProblems = 200;

/** Commands of a shell, each on a line of its own or with others, that need the feature. */
const commands: readonly (readonly [KernelFeature, RegExp])[] = [
  ...(
    [
      ["vrf", "vrf"],
      ["vlan", "vlan"],
      ["vxlan", "vxlan"],
      ["bonding", "bond"],
      ["macsec", "macsec"],
      ["wireguard", "wireguard"],
    ] as const
  ).map(
    ([feature, type]) => [feature, new RegExp(`\\bip\\b[^\\n;&|]*\\blink\\b[^\\n;&|]*\\badd\\b[^\\n;&|]*\\btype\\s+${type}\\b`)] as const,
  ),
  ["mpls", /\bnet[./]mpls[./]|\bencap mpls\b|\bip -(?:f |family )?(?:M\b|mpls\b)/],
  ["netem", /\btc\b[^\n;&|]*\bqdisc\b[^\n;&|]*\bnetem\b/],
  ["vlan-filter", /\bvlan_filtering 1\b/],
];

/** Lines of an FRR configuration that need the feature. */
const frrLines: readonly (readonly [KernelFeature, RegExp])[] = [
  ["vrf", /^(?:vrf \S|router \S+.* vrf \S|interface \S+ vrf \S)/m],
  ["mpls", /^(?:mpls ldp\b|mpls (?:lsp|label) |segment-routing\b| +label vpn export\b| +segment-routing on\b)/m],
];

/** Returns the features of the kernel that the node uses, each once. @param isFrr its startup-config is FRR's; otherwise it is a shell script */
export function kernelNeeds({ startupConfig = "", exec, attributes }: LabNode, isFrr: boolean): readonly KernelNeed[] {
  const found = new Map<KernelFeature, KernelNeed>();
  const search = (patterns: typeof commands, text: string, field: KernelNeed["field"]) => {
    for (const [feature, pattern] of patterns) if (!found.has(feature) && pattern.test(text)) found.set(feature, { feature, field });
  };
  search(isFrr ? frrLines : commands, startupConfig, "startup-config");
  search(commands, exec.join("\n"), "exec");
  if (isFrr && /\bldpd\b/.test(String(attributes["daemons"] ?? ""))) search([["mpls", /^/]], "", "attributes.daemons");
  return [...found.values()];
}

/**
 * Returns a warning for each node that uses a feature which the kernel of the host's machine does not have, if a kernel of the node's own has it.
 * @param nodes keys of the nodes to check; absent: all
 */
export async function kernelProblems(
  { work }: WorkPart,
  host: Pick<HostSession, "rules">,
  { lab, yaml, files }: Pick<Intent, "lab" | "yaml" | "files">,
  nodes?: ReadonlySet<string>,
): Promise<readonly Diagnostic[]> {
  const { kernelLacks = [], templates } = await host.rules();
  if (kernelLacks.length === 0) return [];
  const rules = new Map(templates.map((template) => [template.id, template]));
  const wrong = lab.nodes.flatMap((node) => {
    const template = rules.get(node.template);
    if (node.kernel === "own" || template?.ownKernel === undefined || nodes?.has(node.key) === false) return [];
    return kernelNeeds(node, template.configLanguage === "frr").flatMap(({ feature, field }) =>
      kernelLacks.includes(feature) ? [{ node, feature, field }] : [],
    );
  });
  const some = wrong.slice(0, maxProblems);
  if (some.length === 0) return [];
  const places = await work.fieldPlaces(
    yaml,
    files,
    some.map(({ node, field }) => ({ kind: "node", key: node.key, field })),
  );
  const found = some.map(
    ({ node, feature, field }, i): Diagnostic => ({
      severity: "warning",
      code: "kernel_lacks",
      message: `${field} of ${node.key} needs ${kernelFeatures[feature]}, which the kernel of the host's machine does not have`,
      hint: "write kernel: own at the node; it then has a Linux kernel with this feature",
      ...places[i]!,
    }),
  );
  return found.sort(byPlace);
}
