import { frrChange } from "../../base/frr-config.ts";
import type { Comparison, LinkWork, NetworkWork, NodeWork } from "../compare/comparison.ts";
import type { NodeField } from "../model/node-fields.ts";
import type { Disruption, FieldRule } from "../model/plan.ts";
import { heavier } from "./disruption.ts";

/**
 * Finds the consequences of changes: which nodes must stop or be recreated, which links are taken off and put back for that, and how much each group
 * of dependent changes disturbs running nodes. Each step then carries the disruption of its group, so that leaving out heavy steps never leaves out
 * part of a group.
 */
export function propagate(comparison: Comparison): void {
  const queue: LinkWork[] = [];
  for (const node of comparison.nodes.values()) {
    if (node.fate !== "keep") continue;
    for (const { field } of node.differences) raise(node, fieldNeed(node, field), undefined, queue);
    if (node.before?.template !== node.intent?.template) raise(node, "recreate", undefined, queue);
  }
  for (const network of comparison.networks.values()) {
    if (network.replaced) for (const link of network.links) relink(link, networkAction(network), queue);
  }
  for (const link of comparison.links.values()) if (changesWiring(link)) queue.push(link);

  for (let link = queue.pop(); link !== undefined; link = queue.pop()) {
    const cause = link.relink ?? linkAction(link);
    for (const node of link.nodes) {
      if (needsDown(node) && node.wantUp && (node.fate === "keep" || node.fate === "extra")) {
        const need = node.template?.links === "recreate" && link.fate !== "keep" ? "recreate" : "restart";
        raise(node, need, cause, queue);
      }
    }
  }
  propagateLevels(comparison);
}

export function nodeAction(node: NodeWork): string {
  return `node:${node.key}`;
}

export function networkAction(network: NetworkWork): string {
  return `network:${network.key}`;
}

export function linkAction(link: LinkWork): string {
  return `link:${link.key}`;
}

/** Returns how the node that is on the host now takes a change of the field while it runs. */
export function fieldRule(node: NodeWork, field: NodeField): FieldRule {
  const rule = node.template?.fields[field] ?? "live";
  // Its virtual machine gets its memory at its start.
  if (field === "ram" && rule === "live" && node.after?.kernel === "own") return "restart";
  return field === "startupConfig" && rule === "live" && configRestart(node) !== undefined ? "restart" : rule;
}

/** Results by node: texts are compared once. */
const restarts = new WeakMap<NodeWork, { readonly reason: string | undefined }>();

/** Returns why the running node takes its changed startup-config only at a start; undefined if it takes the change live, or if its rule is not "live". */
export function configRestart(node: NodeWork): string | undefined {
  const { template, before, after } = node;
  if (template?.configLanguage !== "frr" || template.fields["startupConfig"] !== "live") return undefined;
  let known = restarts.get(node);
  if (known === undefined) {
    known = { reason: frrChange(before?.startupConfig ?? "", after?.startupConfig ?? "").restart };
    restarts.set(node, known);
  }
  return known.reason;
}

/** Whether the plan applies the changed startup-config to the node while it runs. */
export function takesConfigLive(node: NodeWork): boolean {
  return (
    node.template?.configLanguage === "frr" && node.up && node.wantUp && node.need === "none" && fieldRule(node, "startupConfig") === "live"
  );
}

/** Whether the plan stops the node, with or without starting it again. */
export function goesDown(node: NodeWork): boolean {
  return node.up && (node.need !== "none" || !node.wantUp);
}

/** Returns whether the link is added, deleted, or gets another MTU. */
function changesWiring(link: LinkWork): boolean {
  return link.fate === "create" || link.fate === "delete" || link.differences.some(({ field }) => field === "mtu");
}

/** Whether the node runs and must stop for a change of its links. */
function needsDown(node: NodeWork): boolean {
  return node.up && node.template?.links !== "live";
}

function fieldNeed(node: NodeWork, field: NodeField): NodeWork["need"] {
  const rule = fieldRule(node, field);
  if (rule === "recreate") return "recreate";
  return rule === "restart" && node.up && node.wantUp ? "restart" : "none";
}

function raise(node: NodeWork, need: NodeWork["need"], cause: string | undefined, queue: LinkWork[]): void {
  if (need === "none" || node.need === need || node.need === "recreate") return;
  node.need = need;
  node.cause = cause;
  if (need === "recreate") for (const link of node.links) relink(link, nodeAction(node), queue);
}

/** Marks a link that stays but must be taken off and put back, because one of its ends is recreated. */
function relink(link: LinkWork, cause: string, queue: LinkWork[]): void {
  if ((link.fate !== "keep" && link.fate !== "extra") || link.relink !== undefined) return;
  link.relink = cause;
  queue.push(link);
}

function propagateLevels(comparison: Comparison): void {
  const touched: LinkWork[] = [];
  for (const node of comparison.nodes.values()) node.level = downLevel(node);
  for (const link of comparison.links.values()) {
    if (link.relink === undefined && !changesWiring(link) && link.differences.length === 0) continue;
    link.level = ownLevel(link);
    touched.push(link);
  }
  // Levels only rise and there are five, so each link is queued a few times at most.
  const queue = [...touched];
  const waiting = new Set(queue);
  const again = (links: readonly LinkWork[]) => {
    for (const link of links) {
      if (waiting.has(link) || (link.relink === undefined && link.fate !== "create" && link.fate !== "delete")) continue;
      waiting.add(link);
      queue.push(link);
    }
  };
  for (let link = queue.pop(); link !== undefined; link = queue.pop()) {
    waiting.delete(link);
    let level = link.level;
    const moves = link.relink !== undefined || link.fate === "create" || link.fate === "delete";
    if (moves) {
      for (const node of link.nodes) if (node.need === "recreate" && link.fate !== "delete") level = heavier(level, node.level);
      if (link.network?.replaced && link.fate !== "delete") level = heavier(level, link.network.level);
      for (const other of [...link.takes, ...link.takenBy]) level = heavier(level, other.level);
    }
    if (level !== link.level) {
      link.level = level;
      again([...link.takes, ...link.takenBy]);
    }
    if (!moves || link.fate === "create") continue;
    // A resource is deleted after its links.
    for (const node of link.nodes) {
      if (node.need !== "recreate" && node.fate !== "delete") continue;
      const raised = heavier(node.level, level);
      if (raised === node.level) continue;
      node.level = raised;
      again(node.links);
    }
    const { network } = link;
    if (network === undefined || !(network.replaced || network.fate === "delete")) continue;
    const raised = heavier(network.level, level);
    if (raised === network.level) continue;
    network.level = raised;
    again(network.links);
  }
}

function downLevel(node: NodeWork): Disruption {
  if (!node.up) return "none";
  if (node.need === "recreate") return "recreate";
  if (!node.wantUp) return "stop";
  return node.need;
}

/** Returns how much the link's own change disturbs its ends, before groups are considered. */
function ownLevel(link: LinkWork): Disruption {
  let level: Disruption = "none";
  for (const node of link.nodes) {
    if (link.fate === "create") {
      // The interface may have to be added first, which can require a restart of the node.
      const grows = node.differences.some(({ field }) => field === "ethernet" && fieldRule(node, field) !== "live");
      if (node.up && grows) level = heavier(level, node.level);
    }
    if (!node.up) continue;
    const wiring = link.relink !== undefined || changesWiring(link);
    if (wiring && needsDown(node)) level = heavier(level, node.level);
    else if (link.fate === "delete" || link.relink !== undefined || flaps(link)) level = heavier(level, "link");
  }
  return level;
}

/** Whether a link that stays loses its carrier for a moment. Suspending it and another MTU do that; resuming it and another quality do not. */
function flaps(link: LinkWork): boolean {
  return (
    link.differences.some(
      ({ field, changes }) => field === "mtu" || (field === "suspended" && changes.some(({ after }) => after === true)),
    ) && link.fate === "keep"
  );
}
