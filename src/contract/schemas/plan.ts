import Type, { type Static } from "typebox";
import { ImageFetchData, PlacementData } from "./machines.ts";
import { Diagnostic, optionalWarnings } from "./project.ts";
import {
  flag,
  integer,
  json,
  list,
  optionalFiles,
  optionalFlag,
  optionalInteger,
  optionalJson,
  optionalText,
  text,
  word,
} from "./shapes.ts";

const Origin = Type.Optional(word(["intent", "host", "both"]));

export const PlanChange = Type.Object({
  /** Dotted from the resource: image, attributes.daemons, quality.a.delay. */
  field: text,
  before: json,
  after: json,
  sensitive: optionalFlag,
  /** Who changed it since the last apply: the intent, the host (by hand), or both. Absent: not known. */
  origin: Origin,
});
export type PlanChange = Static<typeof PlanChange>;

export const PlanAction = Type.Object({
  id: text,
  op: word(["create", "update", "replace", "delete", "start", "stop", "wipe"]),
  kind: word(["lab", "network", "node", "config", "link", "text"]),
  key: text,
  native_id: optionalText,
  name: optionalText,
  /** field: of a blocked action, what of the resource is wrong, such as image or attributes.daemons. */
  reason: Type.Object({ code: text, text, field: optionalText }),
  disruption: word(["none", "link", "restart", "stop", "recreate"]),
  /** Keys of the other nodes and links that the change disturbs. A network with more than 100 members is listed in place of them. */
  affects: list(text),
  /** The things of affects with their kinds. Of actions; absent if affects is empty. */
  affected: Type.Optional(list(Type.Object({ kind: word(["node", "link", "network"]), key: text }))),
  changes: list(PlanChange),
  prune: flag,
  /** Line in the intent, from 1. */
  line: optionalInteger,
  /** Who made the difference since the last apply; also in reason.code: changed_in_file, changed_on_host, changed_in_both. */
  origin: Origin,
  /** A fact that people need before they approve the action: a running node gets a changed startup-config only after a wipe. */
  note: optionalText,
  /** In operations: the id of the action that the step belongs to. */
  of: optionalText,
});
export type PlanAction = Static<typeof PlanAction>;

export const PlanSummary = Type.Object({
  creates: integer,
  updates: integer,
  deletes: integer,
  replaces: integer,
  stops: integer,
  starts: integer,
  unchanged: integer,
  skipped_prune: integer,
  unsupported: integer,
});
export type PlanSummary = Static<typeof PlanSummary>;

/** The machines of a lab that is spread over several. */
export const SpreadData = Type.Object({
  /** Keys of the nodes on each machine. */
  machines: list(Type.Object({ machine: text, nodes: list(text) })),
  /** The new and changed links whose ends are on different machines, and the largest packet that fits. */
  links: list(Type.Object({ link: text, machines: list(text), mtu: integer })),
});
export type SpreadData = Static<typeof SpreadData>;

export const PlanData = Type.Object({
  /** Present in a fleet for a new lab: where it will be, and why. */
  placement: Type.Optional(PlacementData),
  /** Images that come from other machines of the fleet. */
  image_fetches: Type.Optional(list(ImageFetchData)),
  /** Present for a lab that is spread over machines. */
  spread: Type.Optional(SpreadData),
  lab: optionalText,
  exists: optionalFlag,
  summary: Type.Optional(PlanSummary),
  /** The ordered host steps. */
  operations: Type.Optional(list(PlanAction)),
  /** One per changed resource. */
  actions: Type.Optional(list(PlanAction)),
  applicable: optionalFlag,
  blocked: Type.Optional(list(PlanAction)),
  text: optionalText,
  plan_identity: optionalText,
  locked: optionalFlag,
  lock: optionalInteger,
  direction: optionalText,
  unsupported: Type.Optional(list(text)),
  /** The `origin` that came with the last change of the lab; only for callers that may edit it. Absent: none came with it. */
  origin: optionalText,
  /** As in StatusData. The plan is not applicable: it would create the lab a second time. */
  moved_to: optionalText,
  /** Problems that do not block the plan: lines of changed startup-configs that the software of the nodes does not accept. Absent: none. */
  warnings: Type.Optional(list(Diagnostic)),
  /**
   * For to_host: ready, depends-on and tests, if the sent text changes them. No host stores them: apply does, and then they take effect. Only for callers who
   * may edit the lab. Absent: none.
   */
  stored: Type.Optional(list(text)),
});
export type PlanData = Static<typeof PlanData>;

export const ReconcileData = Type.Object({
  /** Present in a fleet for a new lab: where it is, and why. */
  placement: Type.Optional(PlacementData),
  /** Images that come from other machines of the fleet. */
  image_fetches: Type.Optional(list(ImageFetchData)),
  lab: optionalText,
  applied: optionalInteger,
  skippedPrune: optionalInteger,
  fullDeploy: optionalFlag,
  applicable: optionalFlag,
  summary: Type.Optional(PlanSummary),
  operations: Type.Optional(list(PlanAction)),
  blocked: Type.Optional(list(PlanAction)),
  /** For to_host: the fields that the host cannot store. With allow_unsupported they were left out; without it nothing was applied. */
  unsupported: Type.Optional(list(text)),
  direction: optionalText,
  state: optionalJson,
  yaml: optionalText,
  files: optionalFiles,
  source: optionalJson,
  manifest: optionalText,
  /** applied, unchanged, or pending_stop: nodes must stop, a confirmed reconcile is needed. */
  status: optionalText,
  warnings: optionalWarnings,
});
export type ReconcileData = Static<typeof ReconcileData>;
