import { didYouMean } from "../diagnostics/nearest.ts";
import { checkKeys, type Field, field, fieldOf, invalid, isNull, readLine, readList, readMap, spot } from "../fields/fields.ts";
import type { TestCheck } from "../lab/lab-test.ts";
import {
  type Dependency,
  type DependencyState,
  dependencyCycle,
  dependencyStates,
  maxConditions,
  type NodeBoot,
} from "../lab/node-boot.ts";
import { conditionVocabulary, stageVocabulary, testChecks, waitVocabulary } from "../lab/vocabulary.ts";
import type { ReadContext } from "./node-fields.ts";
import type { ReadNode } from "./read-nodes.ts";
import { checks } from "./read-tests.ts";

/** Returns the conditions of all nodes, with their `depends-on` and containerlab's `stages`. Nodes without any of them are left out. @param keys of all nodes, also invalid ones */
export function readBoots(context: ReadContext, nodes: ReadonlyMap<string, ReadNode>, keys: ReadonlySet<string>): readonly NodeBoot[] {
  const boots: NodeBoot[] = [];
  const places = new Map<string, Field>();
  for (const [node, { source, ready, inheritedFields }] of nodes) {
    const [dependsField, stagesField] = ["depends-on", "stages"].map((key) => source && fieldOf(source.map, key, source.path));
    const names = { node, keys };
    const found = [
      ...(stagesField === undefined ? [] : readStages(context, stagesField, names)),
      ...(dependsField === undefined ? [] : readDependencies(context, dependsField, names)),
    ];
    const dependsOn = strongest(found);
    if (ready.length + dependsOn.length === 0) continue;
    const isInherited = ready.length > 0 && inheritedFields.includes("ready");
    boots.push({ node, ready, ...(isInherited && { inheritsReady: true }), dependsOn });
    const place = dependsField ?? stagesField;
    if (place !== undefined) places.set(node, place);
  }
  const cycle = dependencyCycle(boots);
  const place = cycle && places.get(cycle[0] ?? "");
  if (cycle !== undefined && place !== undefined) {
    const message = `nodes wait for each other: ${[...cycle, cycle[0]].join(" → ")}`;
    context.problems.error("dependency_cycle", place.place, place.path, message, "remove one of these dependencies");
  }
  return boots;
}

/** A node that is named twice has the state that includes the other. */
function strongest(found: readonly Dependency[]): readonly Dependency[] {
  const states = new Map<string, DependencyState>();
  for (const { node, state } of found) if (states.get(node) !== "ready") states.set(node, state);
  return [...states].map(([node, state]) => ({ node, state })).sort((a, b) => (a.node < b.node ? -1 : 1));
}

/** One condition, or a list of them. */
export function readConditions(context: ReadContext, at: Field): readonly TestCheck[] {
  const { problems } = context;
  const items = at.value.kind === "map" ? [at] : (readList(problems, at) ?? []);
  if (items.length > maxConditions) {
    problems.error("too_large", at.place, at.path, `a node has at most ${maxConditions} conditions, not ${items.length}`);
    return [];
  }
  return items.flatMap((item) => {
    const map = readMap(problems, item);
    if (map === undefined) return [];
    checkKeys(problems, map, item.path, conditionVocabulary);
    const [first, ...more] = testChecks.flatMap((kind) => {
      const found = fieldOf(map, kind, item.path);
      return found === undefined ? [] : [{ kind, found }];
    });
    if (first === undefined && map.entries.size === 0)
      problems.error("missing_key", item.place, item.path, `the condition has no check: one of ${testChecks.join(", ")}`);
    for (const { kind, found } of more)
      problems.error(
        "duplicate_key",
        found.place,
        found.path,
        `the condition has the check ${first?.kind} already: ${kind} is another one`,
      );
    return (first && checks[first.kind](context, first.found)) ?? [];
  });
}

interface Names {
  readonly node: string;
  readonly keys: ReadonlySet<string>;
}

/** A name, a list of names, or a map of names to states. */
function readDependencies(context: ReadContext, at: Field, names: Names): readonly Dependency[] {
  const { problems } = context;
  if (at.value.kind === "map") {
    return [...at.value.entries.values()].flatMap((entry) => {
      const item = field(entry, at.path);
      const state = isNull(item.value) ? "running" : readState(context, item);
      return state !== undefined && isOther(context, entry.key, item, names) ? [{ node: entry.key, state }] : [];
    });
  }
  const items = at.value.kind === "list" ? readList(problems, at) : [at];
  return (items ?? []).flatMap((item) => {
    const node = readLine(problems, item, { loose: true, max: 64 });
    return node !== undefined && isOther(context, node, item, names) ? [{ node, state: "running" as const }] : [];
  });
}

function readState({ problems }: ReadContext, at: Field): DependencyState | undefined {
  const text = readLine(problems, at);
  const found = dependencyStates.find((word) => word === text);
  if (text === undefined || found !== undefined) return found;
  return invalid(problems, at, `it must be ${dependencyStates.join(" or ")}`, didYouMean(text, dependencyStates, problems.effort));
}

/** An unknown node is a warning, and not kept: a pull that removes a node does not make its dependents wrong. */
function isOther({ problems }: ReadContext, name: string, at: Field, { node, keys }: Names): boolean {
  if (name === node) {
    problems.error("dependency_cycle", spot(at), at.path, `the node ${JSON.stringify(node)} waits for itself`, "remove it");
    return false;
  }
  if (keys.has(name)) return true;
  const message = `no node ${JSON.stringify(name)}: nothing waits for it`;
  problems.warn("unknown_node", spot(at), at.path, message, didYouMean(name, keys, problems.effort));
  return false;
}

/** containerlab's stages, as far as they wait for other nodes: `create: {wait-for: [{node: r1, stage: healthy}]}`. */
function readStages(context: ReadContext, at: Field, names: Names): readonly Dependency[] {
  const { problems } = context;
  const stages = readMap(problems, at);
  if (stages === undefined) return [];
  return [...stages.entries.values()].flatMap((entry) => {
    const stage = field(entry, at.path);
    const map = isNull(stage.value) ? undefined : readMap(problems, stage);
    if (map === undefined) return [];
    checkKeys(problems, map, stage.path, stageVocabulary);
    const waits = fieldOf(map, "wait-for", stage.path);
    if (waits === undefined) return [];
    return (readList(problems, waits) ?? []).flatMap((item) => {
      const wait = readMap(problems, item);
      if (wait === undefined) return [];
      checkKeys(problems, wait, item.path, waitVocabulary);
      const [nodeField, stageField] = ["node", "stage"].map((key) => fieldOf(wait, key, item.path));
      const node = nodeField && readLine(problems, nodeField, { loose: true, max: 64 });
      const until = stageField && readLine(problems, stageField);
      if (nodeField === undefined) problems.error("missing_key", item.place, item.path, "wait-for has no node");
      if (until === "exit") {
        problems.warn(
          "ignored_key",
          stageField!.place,
          stageField!.path,
          "the stage exit has no effect here: nodes do not wait for the end of a node",
        );
        return [];
      }
      if (node === undefined || !isOther(context, node, nodeField!, names)) return [];
      return [{ node, state: until === "healthy" ? ("ready" as const) : ("running" as const) }];
    });
  });
}
