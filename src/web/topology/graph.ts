import type { InspectionData } from "../../contract/schemas/observe.ts";
import { type Place, placed } from "./layout.ts";

export interface GraphNode {
  /** Native id; of a network with "net:" before it. */
  readonly id: string;
  readonly label: string;
  readonly kind: "node" | "network";
  /** Template of a node, type of a network. */
  readonly type: string;
  readonly at: Place;
}

export interface GraphLink {
  readonly id: string;
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly fromInterface: string;
  readonly toInterface: string;
  readonly suspended: boolean;
  /** What is declared or live of its quality, in a few words; "" for a plain cable. */
  readonly quality: string;
  /** Which of several links between the same two it is, from 0, and how many there are: they are drawn side by side. */
  readonly lane: number;
  readonly lanes: number;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly links: readonly GraphLink[];
}

/** What of an inspected lab is drawn, and where. */
export function graphOf({ nodes, networks, links }: InspectionData): Graph {
  const ends = new Map<string, string>();
  for (const { id, node, name } of nodes) ends.set(node ?? name, id);
  for (const { id, key, name } of networks) ends.set(key ?? name, `net:${id}`);
  const drawn = links.flatMap((link) => {
    const [a, b] = link.endpoints.map(endOf);
    const from = a && ends.get(a.name);
    const to = b && ends.get(b.name);
    if (from === undefined || to === undefined) return [];
    return [{ link, from, to, fromInterface: a!.interface, toInterface: b!.interface }];
  });
  const pair = (from: string, to: string) => (from < to ? `${from} ${to}` : `${to} ${from}`);
  const lanes = new Map<string, number>();
  const numbered = drawn.map((each) => {
    const lane = lanes.get(pair(each.from, each.to)) ?? 0;
    lanes.set(pair(each.from, each.to), lane + 1);
    return { ...each, lane };
  });
  const members = [
    ...nodes.map((node) => ({ id: node.id, position: node.position })),
    ...networks.map((network) => ({ id: `net:${network.id}`, position: network.position })),
  ];
  const places = placed(
    members,
    drawn.map(({ from, to }) => [from, to] as const),
  );
  return {
    nodes: [
      ...nodes.map((node): GraphNode => ({ id: node.id, label: node.name, kind: "node", type: node.type, at: places.get(node.id)! })),
      ...networks.map(
        ({ id, name, type }): GraphNode => ({ id: `net:${id}`, label: name, kind: "network", type, at: places.get(`net:${id}`)! }),
      ),
    ],
    links: numbered.map(({ link, from, to, fromInterface, toInterface, lane }) => ({
      id: link.id,
      key: link.key,
      from,
      to,
      fromInterface,
      toInterface,
      suspended: link.suspended,
      quality: qualityWords(link.quality ?? link.stored_quality ?? {}),
      lane,
      lanes: lanes.get(pair(from, to))!,
    })),
  };
}

/** "r1:eth1", or a network's key. */
function endOf(text: string): { readonly name: string; readonly interface: string } {
  const colon = text.indexOf(":");
  return colon < 0 ? { name: text, interface: "" } : { name: text.slice(0, colon), interface: text.slice(colon + 1) };
}

interface Side {
  readonly delay?: number;
  readonly jitter?: number;
  readonly loss?: number;
  readonly bandwidth?: number;
}

export function qualityWords(sides: { readonly a?: Side; readonly b?: Side }): string {
  const words = ({ delay, jitter, loss, bandwidth }: Side) =>
    [
      delay ? `${delay} ms` : "",
      jitter ? `± ${jitter} ms` : "",
      loss ? `${loss} % loss` : "",
      bandwidth ? (bandwidth >= 1000 ? `${bandwidth / 1000} Mbit/s` : `${bandwidth} kbit/s`) : "",
    ]
      .filter(Boolean)
      .join(" ");
  const a = words(sides.a ?? {});
  const b = words(sides.b ?? {});
  if (a === b) return a;
  return [a && `→ ${a}`, b && `← ${b}`].filter(Boolean).join(", ");
}
