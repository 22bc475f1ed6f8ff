import type { TestCheck } from "./lab-test.ts";

/**
 * When a node is ready, and the nodes that it waits for, as its author wrote it. The service checks conditions and orders starts; they are not a part of the
 * lab's structure, and no host stores them.
 */
export interface NodeBoot {
  /** Key of the node. */
  readonly node: string;
  /** Checks that run in the node after its template's own ready check. Once all have passed, the node is ready until its next start. */
  readonly ready: readonly TestCheck[];
  /** The conditions are only in defaults, kinds or groups: a node that runs no programs is ready without them. */
  readonly inheritsReady?: true;
  /** Sorted by node. The node is started when all of them are in their state. */
  readonly dependsOn: readonly Dependency[];
}

export interface Dependency {
  /** Key of another node. */
  readonly node: string;
  readonly state: DependencyState;
}

/** running: its boot has ended; ready: its template's check and its conditions have passed. */
export const dependencyStates = ["running", "ready"] as const;

export type DependencyState = (typeof dependencyStates)[number];

/** Maximum number of conditions of a node. */
export const maxConditions = 16;

/** Returns nodes that wait for each other in a circle, in its order; undefined if there is none. */
export function dependencyCycle(boots: readonly NodeBoot[]): readonly string[] | undefined {
  const waitsFor = new Map(boots.map(({ node, dependsOn }) => [node, dependsOn.map((one) => one.node)]));
  const done = new Set<string>();
  for (const start of waitsFor.keys()) {
    // Without recursion: a chain may have as many nodes as a lab.
    const path: { readonly node: string; next: number }[] = [{ node: start, next: 0 }];
    const onPath = new Set([start]);
    while (path.length > 0) {
      const last = path.at(-1)!;
      const next = done.has(last.node) ? undefined : waitsFor.get(last.node)?.[last.next++];
      if (next === undefined) {
        done.add(last.node);
        onPath.delete(last.node);
        path.pop();
      } else if (onPath.has(next)) return path.slice(path.findIndex(({ node }) => node === next)).map(({ node }) => node);
      else {
        path.push({ node: next, next: 0 });
        onPath.add(next);
      }
    }
  }
  return undefined;
}
