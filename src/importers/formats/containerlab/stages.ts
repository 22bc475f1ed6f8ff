import type { Data } from "../../../intent/write/write.ts";
import type { DraftPlace } from "../../draft/draft.ts";
import { DraftNode } from "../../draft/draft-node.ts";
import type { Part } from "../../tree/part.ts";
import type { NodeForm } from "./inherited.ts";

/** Makes `wait-for` of stages the order of starts. A wait that would close a circle is left out: nodes never started. */
export function readStages(forms: ReadonlyMap<string, NodeForm>, places: ReadonlyMap<string, DraftPlace>): void {
  const waits = new Map<string, Set<string>>();
  for (const [name, form] of forms) {
    const node = places.get(name);
    const order = (wait: Part, other: Part | undefined, until: Part | undefined) => {
      const target = places.get(other?.text ?? "");
      if (!(node instanceof DraftNode) || !(target instanceof DraftNode)) wait.dropped("no node that starts");
      else if (until?.text === "exit") wait.dropped("nodes do not wait for the end of a node");
      else if (reaches(waits, target.key, node.key)) wait.dropped("nodes would wait for each other");
      else {
        waits.set(node.key, (waits.get(node.key) ?? new Set()).add(target.key));
        const before = (node.get("depends-on") ?? {}) as { readonly [key: string]: Data };
        const state = until?.text === "healthy" || before[target.key] === "ready" ? "ready" : "running";
        node.put("depends-on", target.key, state, other, "depends-on");
        until?.mapped(`the state ${state}`);
      }
    };
    for (const [, stage] of form.every("stages").flatMap(({ entries }) => entries)) {
      stage.get("exec")?.dropped("commands of a stage have no counterpart here: use exec");
      for (const wait of stage.get("wait-for")?.all ?? []) order(wait, wait.get("node"), wait.get("stage"));
    }
    // Old versions of containerlab had no stages.
    for (const wait of form.every("wait-for").flatMap(({ all }) => all)) order(wait, wait, undefined);
  }
}

/** Whether a node waits for another, directly or by others. */
function reaches(waits: ReadonlyMap<string, ReadonlySet<string>>, from: string, to: string): boolean {
  const seen = new Set([from]);
  for (const each of seen) {
    if (each === to) return true;
    for (const next of waits.get(each) ?? []) seen.add(next);
  }
  return false;
}
