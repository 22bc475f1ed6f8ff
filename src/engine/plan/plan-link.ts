import type { LabLink } from "../../intent/lab/lab.ts";
import type { LinkWork } from "../compare/comparison.ts";
import { diffLink } from "../compare/diff-link.ts";
import { affectedByLink } from "../effects/affects.ts";
import { linkObstacle } from "../effects/blocked.ts";
import { heavier } from "../effects/disruption.ts";
import { linkAction } from "../effects/propagate.ts";
import type { Action, PlanOp } from "../model/plan.ts";
import type { Reason } from "../model/reasons.ts";
import { defined } from "../shared/defined.ts";
import { announce, differs, onlyInIntent, onlyOnHost, type Planning } from "./planning.ts";

/** Adds the action of a link that is added, changed or deleted. Runs before the nodes are planned, which may stop because of it. */
export function announceLink(plan: Planning, link: LinkWork): void {
  const { key, fate, after, before } = link;
  if (fate === "extra" || (fate === "keep" && link.differences.length === 0)) return;
  const op: PlanOp = fate === "create" ? "create" : fate === "delete" ? "delete" : "update";
  const changes =
    op === "create" && after !== undefined
      ? diffLink(undefined, after).flatMap((one) => one.changes)
      : link.differences.flatMap((one) => one.changes);
  const action = defined<Action>({
    id: linkAction(link),
    op,
    kind: "link",
    key,
    native_id: link.id,
    name: undefined,
    reason: op === "create" ? onlyInIntent : op === "delete" ? (link.reason ?? onlyOnHost) : differs(changes),
    disruption: link.level,
    affected: undefined,
    ...affectedByLink(link),
    changes,
    prune: op === "delete" && link.reason === undefined,
    line: undefined,
  });
  const wanted = after ?? before;
  const obstacle = wanted && linkObstacle(link, plan.comparison, plan.templates);
  announce(plan, link, action, obstacle === undefined ? [] : [obstacle]);
}

/** Adds the steps of a link: its own changes, or taking it off and putting it back. */
export function runLink(plan: Planning, link: LinkWork): void {
  const { builder } = plan;
  const { key, fate, after, before, level, differences } = link;
  const own = plan.actions.get(linkAction(link));
  if (link.relink !== undefined) {
    const owner = own ?? plan.actions.get(link.relink);
    if (owner === undefined || after === undefined) return;
    const about = { kind: "link" as const, key, native_id: link.id };
    const reason: Reason = { code: "put_back", text: `taken off and put back for ${link.relink}` };
    builder.run("delete-link", owner, { op: "delete", disruption: level, about, reason, step: { do: "delete-link", link: key } });
    builder.run("create-link", owner, {
      op: "create",
      disruption: level,
      about,
      reason,
      changes: own?.changes ?? [],
      step: { do: "create-link", link: after },
    });
    return;
  }
  if (own === undefined) return;
  if (fate === "delete") {
    builder.run("delete-link", own, { op: "delete", disruption: level, step: { do: "delete-link", link: key } });
  } else if (after !== undefined && fate === "create") {
    builder.run("create-link", own, { op: "create", disruption: level, changes: own.changes, step: { do: "create-link", link: after } });
  } else if (after !== undefined && before !== undefined && fate === "keep") {
    // Only another MTU can wait for a restart; the other changes need not wait with it.
    const waits = heavier(level, "link") !== "link";
    const now = differences.filter(({ field }) => !waits || field !== "mtu");
    const later = waits ? differences.filter(({ field }) => field === "mtu") : [];
    for (const [part, some] of [
      ["update-live", now],
      ["update", later],
    ] as const) {
      if (some.length === 0) continue;
      const live = part === "update-live" && waits;
      const wanted = live ? defined<LabLink>({ ...after, mtu: before.mtu } as LabLink) : after;
      builder.run("update-link", own, {
        op: "update",
        disruption: live ? "link" : level,
        changes: some.flatMap((one) => one.changes),
        part: live && later.length > 0 ? "update-live" : "update",
        step: { do: "update-link", link: wanted, fields: some.map(({ field }) => field) },
      });
    }
  }
}
