import { inNaturalOrder } from "../../base/natural-order.ts";
import { nodeKey, otherName } from "../../base/node-key.ts";
import type { ResultOf } from "../../client/index.ts";
import { qualityText } from "./quality-text.ts";
import { bytes, table } from "./table.ts";

type Inspection = ResultOf<"inspectProject">;

/** Returns a lab's nodes, interfaces and networks as tables. */
export function showInspection(data: Inspection): string {
  const parts = [`${data.lab}  mode ${data.mode}${data.locked ? "  locked" : ""}${data.cached ? `  as of ${data.taken_at}` : ""}`];
  const all = inNaturalOrder(data.nodes, nodeKey);
  const isRenamed = all.some((node) => otherName(node) !== "");
  const isSpread = all.some(({ machine }) => machine !== undefined);
  const nodes = all.map((node) => [
    nodeKey(node),
    ...(isRenamed ? [otherName(node)] : []),
    node.id,
    node.template,
    node.image ?? "",
    node.status,
    ...(isSpread ? [node.machine ?? ""] : []),
    node.cpu === 0 ? "" : String(node.cpu),
    node.ram === 0 ? "" : `${node.ram} MiB`,
    node.console.type,
    limitsText(node.limits),
  ]);
  const heads = [
    "NODE",
    ...(isRenamed ? ["NAME"] : []),
    "ID",
    "TEMPLATE",
    "IMAGE",
    "STATUS",
    ...(isSpread ? ["MACHINE"] : []),
    "CPU",
    "RAM",
    "CONSOLE",
    "LIMITS",
  ];
  if (nodes.length > 0) parts.push(table(heads, nodes));
  const hasAddresses = all.some(
    ({ management, interfaces }) => management !== undefined || interfaces.some(({ addresses = [] }) => addresses.length > 0),
  );
  const interfaces = all.flatMap((node) => [
    ...(node.management === undefined
      ? []
      : [[`${nodeKey(node)}:mgmt0`, "", [node.management, node.management_ipv6 ?? ""].join(" ").trim(), "management network", "", ""]]),
    ...node.interfaces.map((one) => [
      `${nodeKey(node)}:${one.name}`,
      one.mac ?? "",
      ...(hasAddresses ? [(one.addresses ?? []).join(" ")] : []),
      one.peer ?? one.network ?? "",
      one.suspended ? "suspended" : "",
      one.quality === undefined ? "" : qualityText(one.quality),
    ]),
  ]);
  if (interfaces.length > 0)
    parts.push(table(["INTERFACE", "MAC", ...(hasAddresses ? ["ADDRESSES"] : []), "PEER", "STATE", "QUALITY"], interfaces));
  const networks = data.networks.map((network) => [network.unique_key ?? network.key ?? network.name, network.id, network.type]);
  if (networks.length > 0) parts.push(table(["NETWORK", "ID", "TYPE"], networks));
  return parts.join("\n\n");
}

function limitsText({ cpu, memory_bytes, processes, disk_bytes }: NonNullable<Inspection["nodes"][number]["limits"]> = {}): string {
  return [
    ...(cpu === undefined ? [] : [`${cpu} CPU`]),
    ...(memory_bytes === undefined ? [] : [`memory ${bytes(memory_bytes)}`]),
    ...(processes === undefined ? [] : [`${processes} processes`]),
    ...(disk_bytes === undefined ? [] : [`disk ${bytes(disk_bytes)}`]),
  ].join(", ");
}
