import { LabwrightError } from "../../client/browser.ts";
import type { LinkQuality } from "../../contract/schemas/observe.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import { call } from "../service/api.ts";
import { type Sections, withPositions, withQuality } from "./intent-sections.ts";
import type { Place } from "../topology/layout/layout.ts";

/** By key of the intent. */
export interface Moves {
  readonly nodes: ReadonlyMap<string, Place>;
  readonly networks: ReadonlyMap<string, Place>;
}

/**
 * Writes positions into the lab's intent, all in one edit of each section; where nothing else of the lab waits to be applied, into the host's
 * definition, too. Answers whether it was.
 */
export async function saveMoves(lab: string, moves: Moves): Promise<{ readonly applied: boolean }> {
  try {
    await editPlaces(lab, moves);
  } catch (error) {
    if (!(error instanceof LabwrightError) || error.code !== "plan_stale") throw error;
    // Somebody edited something else in between: places go into what they wrote.
    await editPlaces(lab, moves);
  }
  // What the host does not support was left out before, and is in no move's way.
  const moving = { lab, allow_unsupported: true };
  // A plan that somebody is about to confirm stays the newest where nothing is applied here.
  if (!onlyMoves(await call("planProject", { ...moving, peek: true }))) return { applied: false };
  const plan = await call("planProject", moving);
  if (!onlyMoves(plan)) return { applied: false };
  const { actions = [], plan_identity } = plan;
  if (actions.length > 0) await call("reconcileProject", { ...moving, plan_identity });
  return { applied: true };
}

function onlyMoves({ actions = [], applicable }: PlanData): boolean {
  const moves = actions.every(({ op, changes }) => op === "update" && changes.every(({ field }) => field.startsWith("position")));
  return moves && applicable === true;
}

async function editPlaces(lab: string, { nodes, networks }: Moves): Promise<void> {
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

/** Writes one link's quality into the intent. Throws LabwrightError link_not_found where the intent does not know the link. */
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

/** Secrets stay masked: the service knows them again. */
async function readSections(lab: string): Promise<{ readonly sections: Sections; readonly revision: string }> {
  const [{ yaml, revision }, { parse }] = await Promise.all([call("getPublicProject", { lab }), import("yaml")]);
  return { sections: parse(yaml) as Sections, revision };
}
