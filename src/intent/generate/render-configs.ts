import { compareNatural } from "../../base/natural-order.ts";
import {
  addressOnly,
  addressText,
  bitsOf,
  type Family,
  families,
  type InterfaceAddress,
  networkOf,
  sizeOf,
} from "../addresses/interface-address.ts";
import { Problems } from "../diagnostics/problems.ts";
import type { LabNode, Scalar } from "../lab/lab.ts";
import { type Part, parseTemplate } from "../template/parse-template.ts";
import { renderTemplate } from "../template/render-template.ts";
import { TemplateError } from "../template/template-error.ts";
import { Budget, type Data } from "../template/values.ts";
import { type Addresses, loopback } from "./assign-addresses.ts";
import { addTo } from "./multimap.ts";
import type { Segment, SegmentEnd } from "./segments.ts";

/** Steps of all templates of a lab together: about two seconds of work. A line with a value takes about six. */
const maxSteps = 5_000_000;
/** Maximum characters of one configuration, and of all. */
const maxConfig = 1_048_576;
const maxAll = 32 * 1024 * 1024;

/** A node, and the template that becomes its startup-config. */
export interface TemplatedNode {
  readonly node: LabNode;
  readonly groups: readonly string[];
  readonly source?: { readonly file: string; readonly text: string };
}

export interface TemplatedLab {
  readonly name: string;
  readonly nodes: ReadonlyMap<string, TemplatedNode>;
  readonly segments: readonly Segment[];
  readonly addresses: Addresses;
  readonly variables: ReadonlyMap<string, Scalar>;
}

/** Returns the startup-configs of the nodes whose startup-config is a template, by key. Reports one mistake of each template. */
export function renderConfigs(problems: Problems, lab: TemplatedLab): ReadonlyMap<string, string> {
  const result = new Map<string, string>();
  const templated = [...lab.nodes.values()].filter(({ source }) => source !== undefined);
  if (templated.length === 0) return result;
  const budget = new Budget(maxSteps);
  const data = new TemplateData(lab);
  const parsed = new Map<string, readonly Part[]>();
  const failed = new Set<string>();
  let characters = 0;
  for (const one of templated) {
    const { key } = one.node;
    const { file = "", text = "" } = one.source ?? {};
    if (failed.has(file)) continue;
    try {
      const parts = parsed.get(file) ?? parse(text, budget);
      parsed.set(file, parts);
      const config = renderTemplate(parts, data.of(one, budget), { budget, maxLength: maxConfig });
      characters += config.length;
      if (characters > maxAll)
        throw new TemplateError(`the templates make more than ${maxAll} characters`, 0, "make the configurations shorter");
      result.set(key, config);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      failed.add(file);
      const inside = new Problems(text);
      const message = parsed.has(file) ? `node ${key}: ${error.message}` : error.message;
      inside.error("template_error", { start: error.at, end: error.at + 1 }, "", message, error.hint);
      problems.addOfFile(file, inside);
    }
  }
  return result;
}

/** Parsing a character takes as long as a step. */
function parse(text: string, budget: Budget): readonly Part[] {
  budget.use(text.length, 0);
  return parseTemplate(text);
}

/** The data of templates. Parts that nodes share are made once. */
class TemplateData {
  readonly #addresses: Addresses;
  readonly #nodes: ReadonlyMap<string, TemplatedNode>;
  readonly #shared: readonly (readonly [string, Data])[];
  readonly #segments = new Map<string, { readonly segment: Segment; readonly end: SegmentEnd }[]>();
  readonly #ends = new Map<SegmentEnd, Data>();

  constructor({ name, nodes, segments, addresses, variables }: TemplatedLab) {
    this.#addresses = addresses;
    this.#nodes = nodes;
    for (const segment of segments) {
      for (const end of segment.ends) {
        addTo(this.#segments, end.node, { segment, end });
      }
    }
    const inOrder = [...nodes.values()].sort((a, b) => compareNatural(a.node.key, b.node.key));
    this.#shared = [
      ["lab", new Map([["name", name]])],
      ["nodes", inOrder.map((one) => this.#nodeData(one))],
      ["vars", variables],
    ];
  }

  of(one: TemplatedNode, budget: Budget): ReadonlyMap<string, Data> {
    const { key } = one.node;
    const at = (this.#segments.get(key) ?? []).toSorted((a, b) => compareNatural(a.end.interface, b.end.interface));
    for (const { segment } of at) budget.use(segment.ends.length, 0);
    const interfaces = at.map(({ segment, end }) => {
      const neighbors = segment.ends.filter((other) => other !== end).map((other) => this.#endData(other));
      return new Map<string, Data>([
        ["name", end.interface],
        ["type", segment.pool],
        ...this.#addressData(key, end.interface),
        ["neighbors", neighbors],
      ]);
    });
    const addresses = new Map(
      [...(this.#addresses.get(key) ?? [])].sort(byInterface).map(([name, list]) => [name, list.map(addressText)] as const),
    );
    return new Map<string, Data>([
      ...this.#shared,
      ["node", this.#nodeData(one)],
      ["interfaces", interfaces],
      ["neighbors", interfaces.flatMap((one) => one.get("neighbors") as readonly Data[])],
      ["addresses", addresses],
    ]);
  }

  #nodeData({ node, groups }: TemplatedNode): ReadonlyMap<string, Data> {
    return new Map<string, Data>([
      ["key", node.key],
      ["name", node.name],
      ["template", node.template],
      ["image", node.image ?? null],
      ["groups", groups],
      ["labels", mapOf(node.labels)],
      ["attributes", mapOf(node.attributes)],
      ["env", mapOf(node.env)],
      ["loopback", new Map(this.#addressData(node.key, loopback))],
    ]);
  }

  #endData(end: SegmentEnd): Data {
    const known = this.#ends.get(end);
    if (known !== undefined) return known;
    const node: LabNode | undefined = this.#nodes.get(end.node)?.node;
    const data = new Map<string, Data>([
      ["node", end.node],
      ["name", node?.name ?? end.node],
      ["template", node?.template ?? ""],
      ["interface", end.interface],
      ...this.#addressData(end.node, end.interface),
      ["loopback", new Map(this.#addressData(end.node, loopback))],
    ]);
    this.#ends.set(end, data);
    return data;
  }

  /** The first address of each family, whole and in its parts; null without one. */
  #addressData(node: string, name: string): readonly (readonly [string, Data])[] {
    const list = this.#addresses.get(node)?.get(name) ?? [];
    return families.flatMap((family) => {
      const found = list.find((address) => address.family === family);
      const key = `ipv${family}`;
      return [
        [key, found === undefined ? null : addressText(found)],
        [`${key}_address`, found === undefined ? null : addressOnly(found)],
        [`${key}_network`, found === undefined ? null : addressText(networkOf(found))],
        [`${key}_length`, found === undefined ? null : found.length],
        ...(family === 4 ? ([["ipv4_netmask", found === undefined ? null : netmask(found)]] as const) : []),
      ] as const;
    });
  }
}

/** The loopback first. */
function byInterface([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return Number(b === loopback) - Number(a === loopback) || compareNatural(a, b);
}

function netmask({ length }: InterfaceAddress): string {
  const family: Family = 4;
  return addressOnly({ family, length, address: (1n << BigInt(bitsOf[family])) - sizeOf({ family, length }) });
}

function mapOf(record: Readonly<Record<string, Scalar>>): Data {
  return new Map(Object.entries(record));
}
