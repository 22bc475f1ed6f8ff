import { createHash } from "node:crypto";
import { hidden, isSensitive } from "../../../engine/model/sensitive.ts";
import { maskText } from "../../../engine/show/secret-words.ts";
import { hostFailure } from "../api/host-failure.ts";
import { shortText } from "../api/short-text.ts";
import { readText, textKey } from "../lab-file/texts.ts";
import type { UnlInterface, UnlLab, UnlNode } from "../lab-file/unl.ts";
import type { EveCatalogue } from "../templates/catalogue.ts";
import type { EveTemplate } from "../templates/template.ts";
import { pictureKey } from "./lab-extras.ts";
import { rawAttribute } from "./node-attributes.ts";
import { usesConfig } from "./observe.ts";

/** Returns all managed values of a lab as facts: "node 3 ram" → "512". Different notations of the same value give the same fact. */
export type LabFacts = ReadonlyMap<string, string>;

export function labFacts(lab: UnlLab, catalogue: EveCatalogue): LabFacts {
  const facts = new Map<string, string>();
  const set = (key: string, value: unknown) => {
    if (value !== undefined && value !== "") facts.set(key, String(value));
  };
  for (const field of ["description", "author", "body", "version", "scripttimeout"] as const) set(`lab ${field}`, lab[field]);
  for (const picture of lab.pictures) set(`picture ${picture.id}`, createHash("sha256").update(pictureKey(picture)).digest("hex"));
  for (const network of lab.networks) {
    const about = `network ${network.id}`;
    facts.set(about, "there");
    for (const field of ["name", "type", "left", "top"] as const) set(`${about} ${field}`, network[field]);
    set(`${about} visibility`, network.visibility ?? 0);
  }
  for (const node of lab.nodes) nodeFacts(node, lab, catalogue.template(node.template ?? ""), set);
  for (const object of lab.textObjects) {
    const text = readText(object);
    const key = text === undefined ? `shape ${object.name ?? ""}` : `text ${textKey(text)}`;
    facts.set(key, String(Number(facts.get(key) ?? 0) + 1));
  }
  return facts;
}

function nodeFacts(node: UnlNode, lab: UnlLab, template: EveTemplate | undefined, set: (key: string, value: unknown) => void): void {
  const about = `node ${node.id}`;
  set(about, "there");
  for (const field of ["name", "template", "type", "icon", "left", "top"] as const) set(`${about} ${field}`, node[field]);
  if (template?.images !== undefined) set(`${about} image`, node.image);
  if (template?.cpu !== undefined) set(`${about} cpu`, node.cpu ?? template.cpu);
  if (template?.ram !== undefined) set(`${about} ram`, node.ram ?? template.ram);
  if (template?.shape.countable === true) set(`${about} ethernet`, node.ethernet);
  const used = usesConfig(node);
  set(`${about} config`, used ? "used" : "not used");
  if (used) set(`${about} startup-config`, lab.configs.find(({ id }) => id === node.id)?.text);
  for (const { name, type, default: byDefault } of template?.attributes ?? []) {
    const raw = rawAttribute(node, name);
    // The host generates an address if none is given.
    if (name === "firstmac") continue;
    const text = raw === undefined || raw === "" ? (byDefault ?? "") : raw;
    set(`${about} ${name}`, type === "boolean" ? (text === true || text === "1" || text === "true" ? "1" : "0") : text);
  }
  for (const one of node.interfaces) set(`${about} interface ${one.id}`, joinedTo(one));
}

function joinedTo(one: UnlInterface): string | undefined {
  const quality = (["delay", "jitter", "loss", "bandwidth"] as const)
    .map((word) => one[`source_${word}`] ?? 0)
    .map((value, index) => (value === 0 ? "" : ` ${["delay", "jitter", "loss", "bandwidth"][index]} ${value}`))
    .join("");
  if ((one.network_id ?? 0) > 0) return `network ${one.network_id}${quality}`;
  return one.remote_id === undefined || one.remote_id === 0 ? undefined : `node ${one.remote_id} interface ${one.remote_if ?? 0}`;
}

/** Returns the facts that differ, each with its wanted value. `undefined`: the fact must not exist. */
export function changedFacts(before: LabFacts, after: LabFacts): ReadonlyMap<string, string | undefined> {
  const changed = new Map<string, string | undefined>();
  for (const [key, value] of after) if (before.get(key) !== value) changed.set(key, value);
  for (const key of before.keys()) if (!after.has(key)) changed.set(key, undefined);
  return changed;
}

/**
 * Compares the wanted facts with those of the host. Throws host_error with each different field, its wanted and its actual value, without their
 * secrets.
 */
export function expectFacts(wanted: ReadonlyMap<string, string | undefined>, got: LabFacts, pending?: string): void {
  const differences = [...wanted]
    .filter(([key, value]) => got.get(key) !== value)
    .map(([field, value]) => ({ field, wanted: publicValue(field, value), got: publicValue(field, got.get(field)) }));
  const [first] = differences;
  if (first === undefined) return;
  const more = differences.length > 1 ? ` and ${differences.length - 1} more` : "";
  const shown = `${first.field}: wanted ${show(first.wanted)}, the host has ${show(first.got)}${more}`;
  const undone = differences.length === wanted.size ? "nothing of the change was done" : `a part of the change was not done: ${shown}`;
  throw hostFailure(pending === undefined ? `the host accepted the change, but the result differs: ${shown}` : `${pending}; ${undone}`, {
    differences,
  });
}

function publicValue(field: string, value: string | undefined): string | null {
  if (value === undefined) return null;
  // The last word is the attribute's name: node 3 enable_password.
  return isSensitive(field.slice(field.lastIndexOf(" ") + 1)) ? hidden : maskText(value);
}

function show(value: string | null): string {
  if (value === null) return "nothing";
  return shortText(value);
}
