import { Failure } from "../../../contract/errors.ts";
import { readXml, writeXml, type XmlAttribute, type XmlElement } from "../../../formats/xml/xml.ts";
import { shortText } from "../api/short-text.ts";
import {
  type Attributes,
  type AttributeTable,
  configAttributes,
  interfaceAttributes,
  labAttributes,
  networkAttributes,
  nodeAttributes,
  pictureAttributes,
  slotAttributes,
  textObjectAttributes,
} from "./unl-attributes.ts";

/** The unknown parts of a file, in their order. Written back unchanged. */
export interface Other {
  readonly otherAttributes?: readonly XmlAttribute[];
  readonly otherElements?: readonly (XmlElement | string)[];
}

/**
 * A .unl lab file, in which EVE-NG stores a lab. Lists are in the order of the file. Reading and writing it keeps everything except comments, layout,
 * and the order between known and unknown parts.
 */
export interface UnlLab extends Attributes<typeof labAttributes>, Other {
  /** The lab was read by single calls, without pictures and other parts that only the file has. It must not be written as a file. */
  readonly isPartial?: boolean;
  readonly description?: string;
  /** The tasks. */
  readonly body?: string;
  readonly nodes: readonly UnlNode[];
  readonly networks: readonly UnlNetwork[];
  readonly textObjects: readonly UnlTextObject[];
  readonly pictures: readonly UnlPicture[];
  readonly configs: readonly UnlConfig[];
  /** Unknown parts of the enclosing elements: topology, nodes, networks, objects, textobjects, pictures, configs. */
  readonly containers?: Readonly<Partial<Record<Container, Other>>>;
}

export interface UnlNode extends Attributes<typeof nodeAttributes>, Other {
  readonly id: number;
  /** Modules of a dynamips router. */
  readonly slots?: readonly UnlSlot[];
  /** Only connected interfaces. */
  readonly interfaces: readonly UnlInterface[];
}

export interface UnlSlot extends Attributes<typeof slotAttributes>, Other {}

export interface UnlInterface extends Attributes<typeof interfaceAttributes>, Other {
  readonly id: number;
}

export interface UnlNetwork extends Attributes<typeof networkAttributes>, Other {
  readonly id: number;
}

export interface UnlTextObject extends Attributes<typeof textObjectAttributes>, Other {
  /** As in the file: HTML in base64, by convention. */
  readonly data?: string;
}

export interface UnlPicture extends Attributes<typeof pictureAttributes>, Other {
  /** Base64. */
  readonly data?: string;
  readonly map?: string;
}

/** The startup config of the node with this id. */
export interface UnlConfig extends Other {
  readonly id: number;
  readonly text: string;
  /** The encoding of the bytes: UTF-8, unless they are not valid UTF-8. */
  readonly encoding?: "latin1";
}

export const containers = ["topology", "nodes", "networks", "objects", "textobjects", "pictures", "configs"] as const;
export type Container = (typeof containers)[number];

/**
 * Parses a .unl file. Merges several `objects` elements, which EVE-NG writes. Throws `host_error` if it is not XML or not a lab, or has a node,
 * interface or network without an id.
 */
export function readUnl(text: string): UnlLab {
  const root = parse(text);
  const rest = new Taken(root);
  const [topology, objects] = [rest.container("topology"), rest.container("objects")];
  const [nodes, networks] = [topology.container("nodes"), topology.container("networks")];
  const [textObjects, pictures, configs] = [objects.container("textobjects"), objects.container("pictures"), objects.container("configs")];
  const lab = {
    ...rest.attributes(labAttributes),
    ...rest.texts(["description", "body"]),
    nodes: nodes.elements("node").map(readNode),
    networks: networks.elements("network").map((element) => identified(element, networkAttributes)),
    textObjects: textObjects.elements("textobject").map((element) => withTexts(element, textObjectAttributes, ["data"])),
    pictures: pictures.elements("picture").map((element) => withTexts(element, pictureAttributes, ["data", "map"])),
    configs: readConfigs(configs.elements("config")),
    ...rest.other(),
  };
  const around = { topology, nodes, networks, objects, textobjects: textObjects, pictures, configs };
  const kept = containers.flatMap((name) => {
    const other = around[name].other();
    return Object.keys(other).length === 0 ? [] : [[name, other] as const];
  });
  return kept.length === 0 ? lab : { ...lab, containers: Object.fromEntries(kept) };
}

function parse(text: string): XmlElement {
  let root: XmlElement;
  try {
    root = readXml(text);
  } catch (error) {
    throw new Failure("host_error", `the lab file cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
  if (root.name !== "lab") throw new Failure("host_error", `the lab file cannot be read: its root element is ${root.name}, not lab`);
  return root;
}

function readNode(element: XmlElement): UnlNode {
  const rest = new Taken(element);
  const attributes = rest.attributes(nodeAttributes);
  const slots = rest.elements("slot").map((slot) => withTexts(slot, slotAttributes, []));
  const interfaces = rest.elements("interface").map((each) => identified(each, interfaceAttributes));
  return { ...attributes, id: idOf(element, attributes), ...(slots.length === 0 ? {} : { slots }), interfaces, ...rest.other() };
}

/** Longest startup config that is read, characters in base64: masking and comparing longer ones would block the service for seconds. */
const maxConfig = 2 * 1024 * 1024;
/** All startup configs of a lab together. An intent may not be longer either. */
const maxConfigs = 8 * 1024 * 1024;

function readConfigs(elements: readonly XmlElement[]): readonly UnlConfig[] {
  const lengths = elements.map(({ children }) => children.reduce((sum, child) => sum + (typeof child === "string" ? child.length : 0), 0));
  refuseLongConfigs(lengths);
  return elements.map(readConfig);
}

/** Throws host_error for startup configs that are too long to be read. @param lengths characters in base64 */
export function refuseLongConfigs(lengths: readonly number[]): void {
  const longest = lengths.reduce((one, other) => Math.max(one, other), 0);
  if (longest > maxConfig)
    throw new Failure(
      "host_error",
      `the lab file cannot be read: a startup config has ${longest} characters in base64, more than ${maxConfig}`,
    );
  const sum = lengths.reduce((before, length) => before + length, 0);
  if (sum > maxConfigs)
    throw new Failure(
      "host_error",
      `the lab file cannot be read: its startup configs have ${sum} characters in base64, more than ${maxConfigs}`,
    );
}

function readConfig(element: XmlElement): UnlConfig {
  const { data, encoding } = decode(element.children.filter((child) => typeof child === "string").join(""));
  const rest = new Taken({ ...element, children: element.children.filter((child) => typeof child !== "string") });
  const id = idOf(element, rest.attributes(configAttributes));
  return { id, text: data, ...(encoding === undefined ? {} : { encoding }), ...rest.other() };
}

function decode(base64: string): { readonly data: string; readonly encoding?: "latin1" } {
  const bytes = Buffer.from(base64, "base64");
  try {
    return { data: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    // Not UTF-8: reads each byte as a character, so that nothing is lost.
    return { data: bytes.toString("latin1"), encoding: "latin1" };
  }
}

function identified<Table extends AttributeTable>(element: XmlElement, table: Table): Attributes<Table> & Other & { readonly id: number } {
  const rest = new Taken(element);
  const attributes = rest.attributes(table);
  return { ...attributes, id: idOf(element, attributes), ...rest.other() };
}

function withTexts<Table extends AttributeTable, Text extends string>(
  element: XmlElement,
  table: Table,
  texts: readonly Text[],
): Attributes<Table> & { readonly [Name in Text]?: string } & Other {
  const rest = new Taken(element);
  return { ...rest.attributes(table), ...rest.texts(texts), ...rest.other() };
}

function idOf(element: XmlElement, attributes: object): number {
  if ("id" in attributes && typeof attributes.id === "number") return attributes.id;
  const given = element.attributes.find(([name]) => name === "id")?.[1] ?? "";
  const name = element.attributes.find(([key]) => key === "name")?.[1];
  const who = `a ${element.name}${name === undefined ? "" : ` ${shortText(name)}`}`;
  throw new Failure(
    "host_error",
    `the lab file cannot be read: ${who} has the id ${shortText(given)}, which is not a number as EVE-NG writes it`,
  );
}

/** An element from which known parts are taken one by one. The parts that were not taken are `others`. */
class Taken {
  #attributes: readonly XmlAttribute[];
  #children: readonly (XmlElement | string)[];

  constructor(element: Pick<XmlElement, "attributes" | "children">) {
    this.#attributes = element.attributes;
    this.#children = element.children;
  }

  attributes<Table extends AttributeTable>(table: Table): Attributes<Table> {
    const found: Record<string, string | number> = {};
    this.#attributes = this.#attributes.filter(([name, value]) => {
      const kind = Object.hasOwn(table, name) ? table[name] : undefined;
      if (kind === "text") found[name] = value;
      else if (kind === "integer" && isInteger(value)) found[name] = Number(value);
      return !Object.hasOwn(found, name);
    });
    return found as Attributes<Table>;
  }

  elements(name: string): readonly XmlElement[] {
    const found = this.#children.filter((child): child is XmlElement => typeof child !== "string" && child.name === name);
    this.#children = this.#children.filter((child) => typeof child === "string" || child.name !== name);
    return found;
  }

  /** Takes all elements of this name, merged into one. If several have the same attribute, the first value counts. */
  container(name: string): Taken {
    const found = this.elements(name);
    const attributes = new Map<string, string>();
    for (const [attribute, value] of found.flatMap((each) => each.attributes)) {
      if (!attributes.has(attribute)) attributes.set(attribute, value);
    }
    return new Taken({ attributes: [...attributes], children: found.flatMap(({ children }) => children) });
  }

  /** Takes an element with only text. The last of several counts, as in EVE-NG. */
  texts<Text extends string>(names: readonly Text[]): { readonly [Name in Text]?: string } {
    const found: Partial<Record<Text, string>> = {};
    for (const name of names) {
      const plain = (child: XmlElement | string): child is XmlElement =>
        typeof child !== "string" &&
        child.name === name &&
        child.attributes.length === 0 &&
        child.children.every((inner) => typeof inner === "string");
      const last = this.#children.findLast(plain);
      if (last === undefined) continue;
      found[name] = last.children.join("");
      this.#children = this.#children.filter((child) => !plain(child));
    }
    return found as { readonly [Name in Text]?: string };
  }

  other(): Other {
    return {
      ...(this.#attributes.length === 0 ? {} : { otherAttributes: this.#attributes }),
      ...(this.#children.length === 0 ? {} : { otherElements: this.#children }),
    };
  }
}

/** Only values that would be written back unchanged become numbers: "01" stays text. */
function isInteger(value: string): boolean {
  return String(Number(value)) === value && Number.isSafeInteger(Number(value)) && value !== "-0";
}

/** Writes a .unl file that reads back as the same lab. Throws `host_error` for texts that XML cannot contain. */
export function writeUnl(lab: UnlLab): string {
  const nodes = lab.nodes.map((node) =>
    element("node", node, nodeAttributes, [
      ...(node.slots ?? []).map((slot) => element("slot", slot, slotAttributes)),
      ...node.interfaces.map((each) => element("interface", each, interfaceAttributes)),
    ]),
  );
  const networks = lab.networks.map((network) => element("network", network, networkAttributes));
  const textObjects = lab.textObjects.map((each) => element("textobject", each, textObjectAttributes, textElements(each, ["data"])));
  const pictures = lab.pictures.map((each) => element("picture", each, pictureAttributes, textElements(each, ["data", "map"])));
  const configs = lab.configs.map((config) => element("config", config, configAttributes, configText(config)));
  const around = (name: Container, children: readonly XmlElement[]): readonly XmlElement[] => {
    const other = lab.containers?.[name] ?? {};
    return children.length === 0 && Object.keys(other).length === 0 ? [] : [element(name, other, {}, children)];
  };
  const root = element("lab", lab, labAttributes, [
    ...textElements(lab, ["description", "body"]),
    ...around("topology", [...around("nodes", nodes), ...around("networks", networks)]),
    ...around("objects", [...around("textobjects", textObjects), ...around("pictures", pictures), ...around("configs", configs)]),
  ]);
  try {
    return writeXml(root);
  } catch (error) {
    throw new Failure("host_error", `the lab cannot be written as a file: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

function element(name: string, of: object & Other, table: AttributeTable, children: readonly (XmlElement | string)[] = []): XmlElement {
  const known = Object.keys(table).flatMap((attribute): XmlAttribute[] => {
    const value = (of as Readonly<Record<string, unknown>>)[attribute];
    return value === undefined ? [] : [[attribute, String(value)]];
  });
  // A new value replaces one that could not be read.
  const others = (of.otherAttributes ?? []).filter(([attribute]) => known.every(([other]) => other !== attribute));
  return { name, attributes: [...known, ...others], children: [...children, ...(of.otherElements ?? [])] };
}

function textElements(of: object, names: readonly string[]): XmlElement[] {
  return names.flatMap((name) => {
    const text = (of as Readonly<Record<string, unknown>>)[name];
    return typeof text === "string" ? [{ name, attributes: [], children: text === "" ? [] : [text] }] : [];
  });
}

function configText({ text, encoding }: UnlConfig): string[] {
  return text === "" ? [] : [Buffer.from(text, encoding ?? "utf8").toString("base64")];
}
