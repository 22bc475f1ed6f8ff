import type { Endpoint, Lab, LabText, Quality } from "../../intent/lab/lab.ts";
import { qualityFields } from "../../intent/lab/quality.ts";
import type { LabShape } from "../../intent/shapes/shape.ts";
import { layoutOf, type Place } from "../../layout/layout.ts";

/** A lab as a picture: members with a place each, and the links between them. Places as on the pages, px, y downwards. */
export interface Drawing {
  readonly title: string;
  readonly members: readonly Member[];
  readonly links: readonly DrawnLink[];
  readonly texts: readonly LabText[];
  /** In the order of drawing, behind everything else. */
  readonly shapes: readonly LabShape[];
}

export interface Member {
  readonly key: string;
  readonly label: string;
  readonly shape: Shape;
  /** The template of a node, the type of a network. */
  readonly type: string;
  readonly place: Place;
}

export type Shape = "router" | "switch" | "host" | "bridge" | "cloud";

export interface DrawnLink {
  readonly from: string;
  readonly to: string;
  /** Empty at a network. */
  readonly fromInterface: string;
  readonly toInterface: string;
  /** The impairments, such as "20 ms, 1 %". */
  readonly quality: string;
  readonly isSuspended: boolean;
}

/** Returns the drawing of a lab: with the declared positions, and computed ones for the other nodes. */
export function drawingOf(lab: Lab): Drawing {
  const parts = [
    ...lab.nodes.map(({ key, name, template, icon, position }) => ({
      key,
      name,
      type: template,
      shape: shapeOf(template, icon),
      position,
    })),
    ...lab.networks.map(({ key, name, type, position }) => ({
      key,
      name,
      type,
      shape: type === "bridge" ? ("bridge" as const) : ("cloud" as const),
      position,
    })),
  ];
  const links = lab.links.map(({ endpoints: [a, b], quality, suspended }) => ({
    from: memberOf(a),
    to: memberOf(b),
    fromInterface: interfaceOf(a),
    toInterface: interfaceOf(b),
    quality: [...new Set([quality?.a, quality?.b].map(qualityWords).filter((words) => words !== ""))].join(" / "),
    isSuspended: suspended !== undefined,
  }));
  const places = layoutOf(
    parts.map(({ key, name, position }) => ({ id: key, name, position, width: name.length * 7 })),
    links.map(({ from, to }) => [from, to] as const),
  );
  const members = parts.map(({ key, name, type, shape }) => ({ key, label: name, type, shape, place: places.get(key) ?? { x: 0, y: 0 } }));
  return { title: lab.name, members, links, texts: lab.texts, shapes: lab.shapes ?? [] };
}

const shapes: readonly (readonly [pattern: RegExp, shape: Shape])[] = [
  [/switch|ovs|bridge|l2/i, "switch"],
  [/linux|pc|host|server|desktop|container|vm|qemu|client/i, "host"],
];

function shapeOf(template: string, icon = ""): Shape {
  const found = [template, icon].map((word) => shapes.find(([pattern]) => pattern.test(word))?.[1]).find((shape) => shape !== undefined);
  return found ?? "router";
}

function memberOf(end: Endpoint): string {
  return "node" in end ? end.node : end.network;
}

function interfaceOf(end: Endpoint): string {
  return "node" in end ? end.interface : "";
}

const units = { delay: "ms", jitter: "ms jitter", loss: "% loss", bandwidth: "kbit/s" } as const;

function qualityWords(quality: Quality = {}): string {
  return qualityFields.flatMap((field) => (quality[field] === undefined ? [] : [`${quality[field]} ${units[field]}`])).join(", ");
}

/** Returns "eth1 - eth2", or the only interface of a link to a network. */
export function interfacesText({ fromInterface, toInterface }: DrawnLink): string {
  return [fromInterface, toInterface].filter((name) => name !== "").join(" - ");
}
