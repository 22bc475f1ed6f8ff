import { LabwrightError } from "../../client/browser.ts";
import type { LinkQuality } from "../../contract/schemas/observe.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import { call } from "../service/api.ts";
import { type Position, type Sections, withPositions, withQuality } from "./intent-sections.ts";

/** New positions, by key of the intent. */
export interface MovedPositions {
  readonly nodes: ReadonlyMap<string, Position>;
  readonly networks: ReadonlyMap<string, Position>;
}

/**
 * Writes positions into the lab's intent, with one edit per section. If the lab has no other unapplied change, also writes them into the host's
 * definition. Returns whether they were applied to the host.
 */
export async function savePositions(lab: string, positions: MovedPositions): Promise<{ readonly applied: boolean }> {
  try {
    await editPositions(lab, positions);
  } catch (error) {
    if (!(error instanceof LabwrightError) || error.code !== "plan_stale") throw error;
    // Another user edited the intent meanwhile: the positions are written into the newer text.
    await editPositions(lab, positions);
  }
  // Unsupported parts were left out before, and must not block a move.
  const request = { lab, allow_unsupported: true };
  // Peek first: a plan makes older plans stale, also one that another user is about to confirm.
  if (!onlyMoves(await call("planProject", { ...request, peek: true }))) return { applied: false };
  const plan = await call("planProject", request);
  if (!onlyMoves(plan)) return { applied: false };
  const { actions = [], plan_identity } = plan;
  if (actions.length > 0) await call("reconcileProject", { ...request, plan_identity });
  return { applied: true };
}

function onlyMoves({ actions = [], applicable }: PlanData): boolean {
  const moves = actions.every(({ op, changes }) => op === "update" && changes.every(({ field }) => field.startsWith("position")));
  return moves && applicable === true;
}

async function editPositions(lab: string, { nodes, networks }: MovedPositions): Promise<void> {
  const { sections, revision } = await readSections(lab);
  let next = revision;
  if (nodes.size > 0) {
    ({ revision: next } = await call("editProject", {
      lab,
      section: "nodes",
      value: withPositions(sections.nodes, nodes),
      revision: next,
    }));
  }
  if (networks.size > 0) {
    await call("editProject", { lab, section: "networks", value: withPositions(sections.networks, networks), revision: next });
  }
}

/** Writes one link's quality into the intent. Throws LabwrightError link_not_found if the intent has no such link. */
export async function saveQuality(
  lab: string,
  endpoints: readonly string[],
  sides: { readonly a: LinkQuality | undefined; readonly b: LinkQuality | undefined },
): Promise<void> {
  const { sections, revision } = await readSections(lab);
  const value = withQuality(sections.links, endpoints, sides);
  if (value === undefined) {
    throw new LabwrightError(`the intent has no link ${endpoints.join(" – ")}`, { status: 404, code: "link_not_found" });
  }
  await call("editProject", { lab, section: "links", value, revision });
}

/** Reads the intent with masked secrets. The service restores a masked secret when it is written back. */
async function readSections(lab: string): Promise<{ readonly sections: Sections; readonly revision: string }> {
  const [{ yaml, revision }, { parse }] = await Promise.all([call("getPublicProject", { lab }), import("yaml")]);
  return { sections: parse(yaml) as Sections, revision };
}
