import type { LabText, Position, Quality, Vxlan } from "../../intent/lab/lab.ts";
import { toLabName } from "../../intent/lab/lab-name.ts";
import { qualityFields, qualityLimits } from "../../intent/lab/quality.ts";
import { normalFilePath } from "../../intent/parse/files.ts";
import { validShape } from "../../intent/shapes/drawn-shape.ts";
import { type LabShape, shapeLimits } from "../../intent/shapes/shape.ts";
import type { Data } from "../../intent/write/write.ts";
import type { Choice, MissingImage } from "../mapping/choose-template.ts";
import type { Part } from "../tree/part.ts";
import { refuse } from "../tree/refuse.ts";
import { DraftNode } from "./draft-node.ts";
import { cleanText, Keys, oneLine } from "./keys.ts";

/** A network as it will be written. */
export interface DraftNetwork {
  readonly key: string;
  readonly name: string;
  readonly type: "bridge" | "nat" | "vxlan";
  /** Set exactly for type vxlan. */
  readonly vxlan?: Vxlan;
  position?: Position;
  readonly comments: string[];
}

export type DraftPlace = DraftNode | DraftNetwork;

export interface DraftEnd {
  readonly at: DraftPlace;
  /** As the source names it; ignored at a network. */
  readonly interface?: string;
  /** The interface's number in the source. */
  readonly index?: number;
  /** The parts that name the end in the source; their marks contain the new name. */
  readonly parts?: readonly (Part | undefined)[];
}

export interface DraftLink {
  readonly ends: readonly [DraftEnd, DraftEnd];
  readonly quality?: { readonly a?: Quality; readonly b?: Quality } | undefined;
  readonly suspended?: boolean | undefined;
  readonly mtu?: number | undefined;
  /** Dropped if the link cannot be written. */
  readonly part: Part;
}

/** Limits that no lab reaches. */
export const draftLimits = { nodes: 10_000, links: 50_000, fileCharacters: 1_048_576, allCharacters: 16 * 1024 * 1024 } as const;

/** A lab that an importer builds part by part. writeDraft makes the text of it. */
export class Draft {
  name = "lab";
  description: string | undefined;
  management: Data | undefined;
  readonly nodes: DraftNode[] = [];
  readonly networks: DraftNetwork[] = [];
  readonly links: DraftLink[] = [];
  readonly texts: LabText[] = [];
  readonly shapes: LabShape[] = [];
  /** Interfaces that nodes have without a link. */
  readonly unlinked: { readonly node: DraftNode; readonly interface: string; readonly part: Part }[] = [];
  readonly missing: { readonly node: string; readonly image: MissingImage }[] = [];
  /** Configurations of vendors of nodes that have a stand-in, in the language of IOS. */
  readonly iosConfigs: { readonly node: DraftNode; readonly text: string; readonly part: Part; readonly message: string }[] = [];
  readonly #files = new Map<string, string>();
  readonly #keys = new Keys();
  #characters = 0;

  setName(text: string | undefined, from?: Part): void {
    if (text === undefined || text.trim() === "") return;
    this.name = toLabName(text);
    if (this.name === text) from?.kept();
    else from?.mapped(`the lab is ${this.name}`);
  }

  setDescription(text: string | undefined, from?: Part): void {
    const clean = cleanText(text ?? "").trim();
    if (clean === "") {
      from?.dropped("empty");
      return;
    }
    this.description = clean;
    from?.kept();
  }

  /** Adds a node. `names` marks the parts that the node's name and type come from. */
  node(
    name: string,
    choice: Choice,
    from: { readonly name?: Part | undefined; readonly type?: Part | undefined; readonly image?: Part | undefined } = {},
  ): DraftNode {
    if (this.nodes.length >= draftLimits.nodes) refuse(`more than ${draftLimits.nodes} nodes`);
    const key = this.#keys.take(name, "node");
    const node = new DraftNode(key, oneLine(name, 64) ?? key, choice, choice.template);
    this.nodes.push(node);
    this.#markName(node, name, from.name);
    from.type?.mapped(choice.message);
    if (choice.image !== undefined) node.set("image", choice.image);
    if (from.image !== undefined) {
      if (choice.image === undefined)
        from.image.dropped(
          choice.isStandIn
            ? `template ${choice.template} stands in for the software of the image`
            : `template ${choice.template} has its own image`,
        );
      else if (choice.image === from.image.text) from.image.kept(choice.missing === undefined ? "as it is" : choice.message);
      else from.image.mapped(`the image ${choice.image}`);
    }
    for (const [attribute, value] of Object.entries(choice.rule?.attributes ?? {}))
      if (!choice.isStandIn) node.put("attributes", attribute, value);
    if (choice.missing !== undefined) {
      this.missing.push({ node: key, image: choice.missing });
      node.comments.push(
        choice.isStandIn ? `stands in for ${choice.missing.vendor ?? choice.missing.image}` : `needs the image ${choice.missing.image}`,
      );
    }
    return node;
  }

  network(
    name: string,
    type: "bridge" | "nat",
    from: { readonly name?: Part | undefined; readonly type?: Part | undefined } = {},
  ): DraftNetwork {
    if (this.networks.length >= draftLimits.nodes) refuse(`more than ${draftLimits.nodes} networks`);
    const key = this.#keys.take(name, "net");
    const network: DraftNetwork = { key, name: oneLine(name, 64) ?? key, type, comments: [] };
    this.networks.push(network);
    this.#markName(network, name, from.name);
    from.type?.mapped(`a network of type ${type}`);
    return network;
  }

  /** Adds a network that leads to another machine. */
  tunnel(name: string, vxlan: Vxlan): DraftNetwork {
    if (this.networks.length >= draftLimits.nodes) refuse(`more than ${draftLimits.nodes} networks`);
    const key = this.#keys.take(name, "net");
    const network: DraftNetwork = { key, name: key, type: "vxlan", vxlan, comments: [] };
    this.networks.push(network);
    return network;
  }

  /** Adds the node or, if its type is a network here, the network. */
  place(
    name: string,
    choice: Choice,
    from: { readonly name?: Part | undefined; readonly type?: Part | undefined; readonly image?: Part | undefined } = {},
  ): DraftPlace {
    if (choice.network === undefined) return this.node(name, choice, from);
    from.type?.mapped(choice.message);
    from.image?.dropped("a network has no image");
    return this.network(name, choice.network, { name: from.name });
  }

  link(link: DraftLink): void {
    if (this.links.length >= draftLimits.links) refuse(`more than ${draftLimits.links} links`);
    this.links.push(link);
  }

  text(text: string, x: number, y: number): void {
    const clean = cleanText(text).trim();
    if (clean !== "") this.texts.push({ text: clean, ...positionOf(x, y) });
  }

  /** Adds a shape, within the limits of a lab. Returns why it cannot be added; undefined: it is. */
  shape(wanted: LabShape | undefined): string | undefined {
    const shape = wanted && validShape(wanted);
    if (shape === undefined) return "a shape without a place or a size";
    if (this.shapes.length >= shapeLimits.shapes) return `a lab has at most ${shapeLimits.shapes} shapes`;
    this.shapes.push(shape);
    return undefined;
  }

  /** Adds a file of the lab and returns its path, which differs from the wanted one if that is taken by another text. */
  file(wanted: string, text: string): string {
    const safe = wanted.replace(/[^A-Za-z0-9._/-]+/g, "-").replace(/^\/+/, "");
    const normal = normalFilePath(safe);
    const path = "path" in normal ? normal.path : "file";
    const clean = cleanText(text);
    if (clean.length > draftLimits.fileCharacters) refuse(`the text of ${path} has more than ${draftLimits.fileCharacters} characters`);
    let free = path;
    for (let number = 2; this.#files.get(free) !== undefined && this.#files.get(free) !== clean; number++) {
      free = path.replace(/(\.[^./]*)?$/, (extension) => `-${number}${extension}`);
    }
    if (!this.#files.has(free)) this.#characters += clean.length;
    if (this.#characters > draftLimits.allCharacters)
      refuse(`the configurations and files have more than ${draftLimits.allCharacters} characters`);
    this.#files.set(free, clean);
    return free;
  }

  get files(): ReadonlyMap<string, string> {
    return this.#files;
  }

  #markName(place: DraftPlace, name: string, from: Part | undefined): void {
    if (place.key === name) from?.kept();
    else from?.mapped(`the key is ${place.key}`);
  }
}

/** Returns a position that a lab can have. */
export function positionOf(x: number, y: number): Position {
  const within = (value: number) => Math.round(Math.min(1_000_000, Math.max(-1_000_000, Number.isFinite(value) ? value : 0))) + 0;
  return { x: within(x), y: within(y) };
}

/** Returns the quality within its limits; undefined without any impairment. */
export function qualityOf(quality: Quality): Quality | undefined {
  const fields = qualityFields.flatMap((field) => {
    const value = quality[field];
    return value === undefined || !Number.isFinite(value) || value <= 0 ? [] : [[field, Math.min(value, qualityLimits[field])] as const];
  });
  return fields.length === 0 ? undefined : (Object.fromEntries(fields) as Quality);
}
