import type { Lab, LabNetwork, LabNode } from "../../intent/lab/lab.ts";
import type { ObservedLab } from "../model/observed.ts";
import type { Action, Change, HostRules, Origin } from "../model/plan.ts";
import type { Reason } from "../model/reasons.ts";
import { sameValue } from "../shared/canonical.ts";
import { defined } from "../shared/defined.ts";
import { diffLab } from "./diff-lab.ts";
import { diffLink, observedLink } from "./diff-link.ts";
import { meaning, nodeChanges } from "./diff-node.ts";
import { type EndpointKeys, endpointKeys, type JoinedIds, observedLinkKey } from "./join.ts";
import { observedNode } from "./node-values.ts";

export interface OriginInput {
  /** The actions of a to_host plan: `before` is the host's value, `after` the intent's. */
  readonly actions: readonly Action[];
  /** The host's definition right after the last apply. */
  readonly base: ObservedLab;
  /** The intent. The actions have a link's ends in its order. */
  readonly desired: Lab;
  readonly observed: ObservedLab;
  /** Joins the current lab with the base: the observed objects first, then those that no longer exist. */
  readonly ids: JoinedIds;
  readonly baseIds: JoinedIds;
  readonly rules: HostRules;
}

/**
 * Sets for each action who made the difference since the last apply: the intent, the host (a change by hand), or both. Actions of power, and actions
 * that only follow from others, have no origin.
 */
export function markOrigins(input: OriginInput): readonly Action[] {
  const { base, observed, desired, rules } = input;
  const joint = jointKeys(input);
  const then = resources(base, joint, desired, rules);
  const now = resources(observed, joint, desired, rules);
  const lab = new Map(
    diffLab({ ...base, nodes: [], networks: [], links: [] }, observed, { ...rules, unsupportedFields: [] }).changes.map((change) => [
      change.field,
      // Compared in the opposite direction: the host's earlier value takes the place of the intent's.
      change.after,
    ]),
  );
  const textsMoved = !sameValue(sorted(base.texts), sorted(observed.texts));

  /** Returns the value that a field had at the last apply, or undefined if the host did not change it since. */
  const drifted = (action: Action, field: string): { readonly value: unknown } | undefined => {
    if (action.kind === "lab") return lab.has(field) ? { value: lab.get(field) ?? null } : undefined;
    if (action.kind === "text") return textsMoved ? { value: meaning(sorted(base.texts)) } : undefined;
    const id = resourceId(action);
    const [before, after] = [then.get(id)?.get(field) ?? null, now.get(id)?.get(field) ?? null];
    return same(before, after) ? undefined : { value: before };
  };
  const originOf = (action: Action, { field, after }: Change): Origin => {
    const drift = drifted(action, field);
    if (drift === undefined) return "intent";
    return same(drift.value, after) ? "host" : "both";
  };

  return actions(input, (action) => {
    const id = resourceId(action);
    // A configuration is a field of its node, also if it is created or deleted.
    const isPart = action.kind !== "lab" && action.kind !== "text" && action.kind !== "config";
    if (isPart && action.op === "create") {
      const was = then.get(id);
      if (was === undefined) return { ...action, origin: "intent" };
      const asThen = action.changes.every(({ field, after }) => same(was.get(field), after) || field === "position");
      return { ...action, origin: asThen ? "host" : "both" };
    }
    if (isPart && action.op === "delete") {
      const was = then.get(id);
      if (was === undefined) return { ...action, origin: "host" };
      return { ...action, origin: sameFields(was, now.get(id)) ? "intent" : "both" };
    }
    if (action.changes.length === 0) return action;
    const changes = action.changes.map((change) => ({ ...change, origin: originOf(action, change) }));
    const all = new Set(changes.map(({ origin }) => origin));
    return { ...action, changes, origin: all.size === 1 ? changes[0]!.origin : "both" };
  });
}

function actions(input: OriginInput, mark: (action: Action) => Action): readonly Action[] {
  const resource = new Set<string>(["create", "update", "replace", "delete"]);
  return input.actions.map((action) => (resource.has(action.op) ? mark(action) : action));
}

/** The texts that plans show, and the codes of the actions' reasons. */
export const originWords: Readonly<Record<Origin, Reason<"changed_in_file" | "changed_on_host" | "changed_in_both">>> = {
  intent: { code: "changed_in_file", text: "changed in the file" },
  host: { code: "changed_on_host", text: "changed on the host" },
  both: { code: "changed_in_both", text: "changed in both" },
};

type Fields = ReadonlyMap<string, unknown>;

/** Returns the set fields of every resource, by kind and key. */
function resources(lab: ObservedLab, keys: EndpointKeys, desired: Lab, rules: HostRules): ReadonlyMap<string, Fields> {
  const templates = new Map(rules.templates.map((template) => [template.id, template]));
  const wanted = new Map(desired.links.map((link) => [link.key, link]));
  const all = new Map<string, Fields>();
  for (const native of lab.nodes) {
    const key = keys.nodes.get(native.id) ?? native.name;
    const node: LabNode = observedNode(native, key, templates.get(native.template));
    all.set(`node ${key}`, fieldsOf([...nodeChanges(node), { field: "ethernet", before: null, after: native.ethernet }]));
  }
  for (const { id, name, type, icon, position, vxlan } of lab.networks) {
    const key = keys.networks.get(id) ?? name;
    const network = defined<LabNetwork>({ key, name, type, icon, position, vxlan });
    const fields = (["name", "type", "vxlan", "icon", "position"] as const).map((field) => [field, network[field] ?? null] as const);
    all.set(`network ${key}`, new Map(fields.filter(([, value]) => value !== null)));
  }
  for (const native of lab.links) {
    const link = observedLink(native, keys, wanted.get(observedLinkKey(native, keys)));
    all.set(`link ${link.key}`, fieldsOf(diffLink(undefined, link).flatMap(({ changes }) => changes)));
  }
  return all;
}

function fieldsOf(changes: readonly Change[]): Fields {
  return new Map(changes.map(({ field, after }) => [field, after]));
}

/** Absent, false and zero are equal for fields that may be left out. */
function same(a: unknown, b: unknown): boolean {
  const plain = (value: unknown) => (value === undefined || value === false || value === 0 || value === "" ? null : value);
  return sameValue(plain(a), plain(b));
}

function sameFields(a: Fields, b: Fields | undefined): boolean {
  if (b === undefined) return false;
  return [...new Set([...a.keys(), ...b.keys()])].every((field) => same(a.get(field), b.get(field)));
}

function resourceId({ kind, key }: Action): string {
  return `${kind === "config" ? "node" : kind} ${key}`;
}

/** Keys of all native ids, of the current lab and of the base. */
function jointKeys({ ids, baseIds }: OriginInput): EndpointKeys {
  const now = endpointKeys(ids);
  const then = endpointKeys(baseIds);
  return { nodes: new Map([...then.nodes, ...now.nodes]), networks: new Map([...then.networks, ...now.networks]) };
}

function sorted(texts: ObservedLab["texts"]): ObservedLab["texts"] {
  return [...texts].sort((a, b) => a.y - b.y || a.x - b.x || (a.text < b.text ? -1 : 1));
}
