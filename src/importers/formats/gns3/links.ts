import type { Quality } from "../../../intent/lab/lab.ts";
import { type Draft, type DraftEnd, qualityOf } from "../../draft/draft.ts";
import { DraftNode } from "../../draft/draft-node.ts";
import type { Part } from "../../tree/part.ts";
import type { Gns3Node } from "./nodes.ts";

export function readLinks(draft: Draft, links: readonly Part[], nodes: ReadonlyMap<string, Gns3Node>): void {
  for (const link of links) {
    const ends = link.get("nodes") === undefined ? oldEnds(link, nodes) : (link.get("nodes")?.items ?? []).map((end) => endOf(end, nodes));
    const [a, b] = ends;
    if (ends.length !== 2 || a === undefined || b === undefined) {
      link.dropped("a link joins two nodes of the project");
      continue;
    }
    if (a.at === b.at && !(a.at instanceof DraftNode)) {
      link.mapped(`inside the network ${a.at.key}`);
      continue;
    }
    for (const key of ["link_id", "id"]) link.get(key)?.mapped("links are written with names");
    for (const key of ["link_style", "link_type", "description"]) link.get(key)?.dropped("links have one look");
    const filters = link.get("filters");
    const suspend = link.get("suspend");
    const { quality, dropsAll } = filters === undefined ? { quality: undefined, dropsAll: false } : readFilters(filters);
    if (suspend?.boolean === true) suspend.mapped("a suspended link");
    else suspend?.kept();
    draft.link({
      ends: [a, b],
      ...(quality !== undefined && { quality: { a: quality, b: quality } }),
      suspended: suspend?.boolean === true || dropsAll,
      part: link,
    });
  }
}

function endOf(end: Part, nodes: ReadonlyMap<string, Gns3Node>): DraftEnd | undefined {
  const id = end.get("node_id");
  const node = nodes.get(id?.text ?? "");
  if (node === undefined) return undefined;
  const [adapter, port, label] = [end.get("adapter_number"), end.get("port_number"), end.get("label")];
  const name = node.port(adapter?.number ?? 0, port?.number ?? 0);
  node.linked.add(name);
  label?.dropped("the interface is drawn at the end of the link");
  if (!(node.place instanceof DraftNode)) for (const part of [adapter, port]) part?.dropped("a network has no interfaces");
  const index = indexOf(node.kind, adapter?.number ?? 0);
  return { at: node.place, interface: name, ...(index !== undefined && { index }), parts: [id, adapter, port] };
}

/** Version 1.x: the ends are ids of nodes and of their ports. */
function oldEnds(link: Part, nodes: ReadonlyMap<string, Gns3Node>): readonly (DraftEnd | undefined)[] {
  return ["source", "destination"].map((side) => {
    const [id, port] = [link.get(`${side}_node_id`), link.get(`${side}_port_id`)];
    const node = nodes.get(id?.text ?? "");
    if (node === undefined) return undefined;
    const known = node.portById(port?.text ?? "");
    const isSwitch = node.kind === "ethernet_switch" && known !== undefined;
    const name = isSwitch ? `eth${known.port}` : (known?.name ?? `port${port?.text ?? ""}`);
    node.linked.add(name);
    return { at: node.place, interface: name, parts: [id, port] };
  });
}

/** Kinds whose adapters have one port each: the adapter counts the interfaces. */
function indexOf(kind: string, adapter: number): number | undefined {
  return ["qemu", "docker", "virtualbox", "vmware", "vpcs"].includes(kind) ? adapter : undefined;
}

/** Reads the filters of a link, which hold for both directions. */
function readFilters(filters: Part): { readonly quality: Quality | undefined; readonly dropsAll: boolean } {
  if (filters.entries.length === 0) filters.kept("none");
  const values = (key: string) => (filters.get(key)?.all ?? []).map((part) => part.number ?? 0);
  const [delay = 0, jitter = 0] = values("delay");
  const [percent = 0] = values("packet_loss");
  const [nth = 0] = values("frequency_drop");
  const loss = Math.max(percent, nth > 0 ? Math.round(10_000 / nth) / 100 : 0);
  filters.get("delay")?.mapped(`delay ${delay} ms, jitter ${jitter} ms, in both directions`);
  filters.get("packet_loss")?.mapped(`loss ${percent} %, in both directions`);
  filters.get("frequency_drop")?.mapped(nth < 0 ? "a suspended link: every packet is dropped" : `loss ${loss} %, at random`);
  filters.get("corrupt")?.dropped("links do not corrupt packets");
  filters.get("bpf")?.dropped("links do not drop packets by an expression");
  return { quality: qualityOf({ delay, jitter, loss: Math.min(100, loss) }), dropsAll: nth < 0 };
}
