import type { Lab } from "../../intent/lab/lab.ts";
import type { Action, PlanOp } from "../model/plan.ts";
import { unsupportedOnHost } from "../model/support.ts";
import { announce, differs, onlyInIntent, type Planning } from "./planning.ts";

/** Plans the creation of the lab, or the changes of its name, description, management network, traffic filters and texts. */
export function planLabItself(plan: Planning): void {
  const { desired, observed, lab, nodes, networks, links } = plan.comparison;
  const base = { kind: "lab", key: desired.name, name: desired.name, disruption: "none", affects: [], prune: false } as const;
  if (observed === null) {
    const action: Action = {
      ...base,
      id: `lab:${desired.name}`,
      op: "create",
      reason: onlyInIntent,
      changes: [...lab.changes, ...lab.textChanges],
    };
    const { management, ...rest } = desired;
    const isStored = management !== undefined && unsupportedOnHost(plan.comparison.rules, "lab", "management") === undefined;
    const whole: Lab = {
      ...rest,
      ...(isStored && { management }),
      nodes: [...nodes.values()].flatMap(({ after }) => after ?? []),
      networks: [...networks.values()].flatMap(({ after }) => after ?? []),
      links: [...links.values()].flatMap(({ after }) => after ?? []),
    };
    announce(plan, undefined, action);
    plan.builder.run("create-lab", action, {
      op: "create",
      disruption: "none",
      changes: action.changes,
      step: { do: "create-lab", lab: whole },
    });
    return;
  }
  if (lab.changes.length > 0) {
    const fields = new Set(lab.changes.map(({ field }) => field.split(".")[0]));
    const action: Action = {
      ...base,
      id: `lab:${desired.name}`,
      native_id: observed.id,
      op: "update",
      reason: differs(lab.changes),
      changes: lab.changes,
      ...managementNote(plan),
    };
    announce(plan, undefined, action);
    plan.builder.run("update-lab", action, {
      op: "update",
      disruption: "none",
      changes: lab.changes,
      step: {
        do: "update-lab",
        ...(fields.has("name") && { name: desired.name }),
        ...(fields.has("description") && { description: desired.description ?? "" }),
        ...(fields.has("management") && { management: desired.management ?? null }),
        ...(fields.has("traffic_filters") && { trafficFilters: desired.trafficFilters }),
      },
    });
  }
  if (lab.textChanges.length > 0) {
    const op: PlanOp = observed.texts.length === 0 ? "create" : desired.texts.length === 0 ? "delete" : "update";
    const action: Action = {
      ...base,
      id: "text:texts",
      kind: "text",
      key: "texts",
      op,
      reason: differs(lab.textChanges),
      changes: lab.textChanges,
    };
    announce(plan, undefined, action);
    plan.builder.run("update-lab", action, {
      op,
      disruption: "none",
      changes: lab.textChanges,
      step: { do: "update-lab", texts: desired.texts },
    });
  }
}

/** Returns the effect of a changed management network on running nodes. */
function managementNote({ comparison: { desired, observed, lab, nodes }, templates }: Planning): Pick<Action, "note"> {
  const isChanged = lab.changes.some(({ field }) => field === "management");
  if (!isChanged || ![...nodes.values()].some(({ up }) => up)) return {};
  if (desired.management === undefined) {
    const closed = desired.nodes.filter(
      ({ ports = [], template }) => ports.length > 0 && templates.get(template)?.portsNeedManagement === true,
    );
    const ports = closed.length === 0 ? "" : `; the published ports of ${closed.map(({ name }) => name).join(", ")} are closed`;
    return { note: `running nodes lose their management addresses, and connections over them end${ports}` };
  }
  if (observed?.management === undefined) return { note: "running nodes get management addresses" };
  return { note: "running nodes may get other management addresses; connections over the old ones end" };
}
