import { interfaceNaming } from "../../base/names/interface-names.ts";
import { Failure } from "../../contract/errors.ts";
import type { AuthoringPayload, Iface, InterfacesPreviewData, LinkCompletionsData } from "../../contract/schemas/authoring.ts";
import type { TemplateRules } from "../../engine/model/plan.ts";
import type { HostSession } from "../../hosts/host.ts";
import { endpointText, type Lab, type LabNode } from "../../intent/lab/lab.ts";
import { badRequest } from "../common/refusals.ts";
import type { WorkPart } from "../context/parts.ts";
import { checkFields } from "../context/selector.ts";
import { readSent } from "../work/intents.ts";

/** Number of interfaces that are offered for a node without links. */
const choices = 8;

/** Returns the interfaces that nodes of an intent, or of a template alone, will have. */
export async function previewInterfaces(context: WorkPart, host: HostSession, payload: AuthoringPayload): Promise<InterfacesPreviewData> {
  const { items } = await listInterfaces(context, host, payload, "preview");
  return { items: payload.excludeUsed === true ? items.filter(({ used }) => !used) : items };
}

/** Returns the interfaces for a link's endpoint in the host's order: free ones first (with excludeUsed: only free ones), management interfaces last. */
export async function completeLinkInterfaces(
  context: WorkPart,
  host: HostSession,
  payload: AuthoringPayload,
): Promise<LinkCompletionsData> {
  const { items } = await listInterfaces(context, host, payload, "completion");
  const shown = payload.excludeUsed === true ? items.filter(({ used }) => !used) : items;
  const order = new Map(shown.map((item, index) => [item, index]));
  const rank = (item: Iface) => (item.used ? 2 : /^(?:mgmt|management|ma\d|fxp0|em0)/i.test(item.name) ? 1 : 0);
  const sorted = [...shown].sort((a, b) => rank(a) - rank(b) || order.get(a)! - order.get(b)!);
  return { ...(payload.node !== undefined && payload.node !== "" && { node: payload.node }), items: sorted };
}

async function listInterfaces(
  context: WorkPart,
  host: HostSession,
  payload: AuthoringPayload,
  purpose: "preview" | "completion",
): Promise<{ readonly items: readonly Iface[] }> {
  const { dir, files, yaml } = payload;
  checkFields({ ...(dir !== undefined && { dir }), ...(files !== undefined && { files }) });
  const rules = await host.rules();
  const find = (id: string): TemplateRules => {
    const template = rules.templates.find((one) => one.id === id);
    if (template === undefined) throw new Failure("template_not_found", `the host has no template ${id}`);
    return template;
  };
  const { eth_format: ethFormat } = payload;
  if (ethFormat !== undefined && !/^[\x20-\x7e]{0,64}$/.test(ethFormat)) {
    throw badRequest("/eth_format", "a format is at most 64 printable ASCII characters");
  }
  const wanted = payload.node === undefined || payload.node === "" ? undefined : payload.node;
  if (yaml === undefined || yaml === "") {
    if (payload.template === undefined || payload.template === "") throw badRequest("/template", "yaml or a template is needed");
    const template = find(payload.template);
    const count = countOf(payload.attributes?.["ethernet"]);
    return { items: interfacesOf(wanted ?? "", template, payload.eth_format, count, new Map()) };
  }
  const { lab } = await readSent(context, yaml, files ?? {});
  const nodes = lab.nodes.filter(({ key }) => wanted === undefined || key === wanted);
  if (wanted !== undefined && nodes.length === 0) throw new Failure("node_not_found", `the intent has no node ${wanted}`);
  return {
    items: nodes.flatMap((node) => {
      const template = find(node.template);
      const peers = peersOf(lab, node);
      const naming = interfaceNaming(payload.eth_format ?? template.ethFormat);
      const highest = Math.max(-1, ...[...peers.keys()].map((name) => naming.index(name) ?? -1));
      // The links determine the count, unless the intent sets it. A completion also offers the next interfaces.
      const count = node.ethernet ?? (purpose === "preview" ? Math.max(highest + 1, 1) : Math.max(highest + 2, choices));
      return interfacesOf(node.key, template, payload.eth_format, count, peers);
    }),
  };
}

/** Editors send numbers as text. */
function countOf(ethernet: unknown): number {
  if (ethernet === undefined || ethernet === null || ethernet === "") return choices;
  const count = typeof ethernet === "string" ? Number(ethernet) : ethernet;
  if (typeof count === "number" && Number.isInteger(count) && count >= 0) return count;
  throw badRequest("/attributes/ethernet", "the number of interfaces is an integer from 0 on");
}

function interfacesOf(
  node: string,
  template: TemplateRules,
  ethFormat: string | undefined,
  count: number,
  peers: ReadonlyMap<string, string>,
): readonly Iface[] {
  const naming = interfaceNaming(ethFormat ?? template.ethFormat);
  return Array.from({ length: Math.min(count, template.maxInterfaces) }, (_, index): Iface => {
    const name = naming.name(index);
    const peer = peers.get(name);
    return { node, name, index, type: "ethernet", used: peer !== undefined, ...(peer !== undefined && { peer }) };
  });
}

/** Interface name → the other end of its link. */
function peersOf(lab: Lab, node: LabNode): ReadonlyMap<string, string> {
  const peers = new Map<string, string>();
  for (const { endpoints } of lab.links) {
    for (const [index, end] of endpoints.entries()) {
      const other = endpoints[index === 0 ? 1 : 0];
      if ("node" in end && end.node === node.key && other !== undefined) peers.set(end.interface, endpointText(other));
    }
  }
  return peers;
}
