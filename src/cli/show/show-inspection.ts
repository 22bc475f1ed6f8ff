import { inNaturalOrder } from "../../base/natural-order.ts";
import type { ResultOf } from "../../client/index.ts";
import { qualityText } from "./quality-text.ts";
import { bytes, table } from "./table.ts";

type Inspection = ResultOf<"inspectProject">;

/** Returns a lab's nodes, interfaces and networks as tables. */
export function showInspection(data: Inspection): string {
  const parts = [`${data.lab}  mode ${data.mode}${data.locked ? "  locked" : ""}${data.cached ? `  as of ${data.taken_at}` : ""}`];
  const all = inNaturalOrder(data.nodes, ({ node, name }) => node ?? name);
  const nodes = all.map((node) => [
    node.node ?? node.name,
    node.id,
    node.template,
    node.image ?? "",
    node.status,
    node.cpu === 0 ? "" : String(node.cpu),
    node.ram === 0 ? "" : `${node.ram} MiB`,
    node.console.type,
    limitsText(node.limits),
  ]);
  if (nodes.length > 0) parts.push(table(["NODE", "ID", "TEMPLATE", "IMAGE", "STATUS", "CPU", "RAM", "CONSOLE", "LIMITS"], nodes));
  const interfaces = all.flatMap((node) =>
    node.interfaces.map((one) => [
      `${node.node ?? node.name}:${one.name}`,
      one.mac ?? "",
      one.peer ?? one.network ?? "",
      one.suspended ? "suspended" : "",
      one.quality === undefined ? "" : qualityText(one.quality),
    ]),
  );
  if (interfaces.length > 0) parts.push(table(["INTERFACE", "MAC", "PEER", "STATE", "QUALITY"], interfaces));
  const networks = data.networks.map((network) => [network.key ?? network.name, network.id, network.type]);
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
