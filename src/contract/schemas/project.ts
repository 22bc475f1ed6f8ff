import Type, { type Static } from "typebox";
import { ImageFetchData, PlacementData } from "./machines.ts";
import {
  flag,
  integer,
  list,
  name,
  optionalFiles,
  optionalFlag,
  optionalInteger,
  optionalJson,
  optionalName,
  optionalText,
  text,
  time,
  word,
} from "./shapes.ts";

/** Fields of every payload that names a project. The lab is `lab`, else the name in `yaml`. */
export const selectorFields = {
  /** A path such as /courses/bgp-1. */
  lab: optionalName,
  yaml: optionalText,
  files: optionalFiles,
  state: optionalJson,
  manifest: optionalText,
  /** Refused when not empty. */
  dir: optionalText,
  /** Refused when not empty. */
  out: optionalText,
};

const projectFields = {
  ...selectorFields,
  /** For deploy and reconcile to_host: the source of an imported lab, as importFile and importProject return it. It is stored with the lab; status returns it. */
  source: optionalJson,
  /** For deploy and reconcile to_host: free text about where the caller keeps the intent. Plan and status return the origin of the last change. */
  origin: Type.Optional(Type.String({ maxLength: 8192 })),
  /** Absent: false. true: delete what the host has and the intent has not. */
  prune: optionalFlag,
  /** Absent, on destroy: true. */
  wipe: optionalFlag,
  action: optionalName,
  /** IaC node key, for status, inspect, consoles and exec; absent or empty: all nodes. */
  node: optionalName,
  /** Several IaC node keys; an empty list means no node. */
  nodes: Type.Optional(list(name)),
  id: optionalInteger,
  /** 0 graceful, 1 poweroff, 2 hibernate, 3 auto; absent: 3. */
  stopmode: optionalInteger,
  /** true: inspect past the session cache. */
  refresh: optionalFlag,
  /** true: status returns the report of an imported lab in `source`. */
  report: optionalFlag,
  /** true: deploy stops, wipes, deletes and recreates an existing managed lab. */
  replace: optionalFlag,
  /** For destroy. Absent: false. true: destroys the lab even if another user of the host uses it, or a node cannot be stopped; warnings list the nodes that may continue to run. */
  force: optionalFlag,
  /**
   * For plan and reconcile to_host. Absent: false, a plan with something unsupported is not applicable and nothing is changed. true: the rest is applied, and
   * the answer lists what is left out. The plan identity binds it.
   */
  allow_unsupported: optionalFlag,
  plan_identity: optionalName,
  /**
   * true: read only. plan returns no identity, and the previous plan stays valid; reconcile from_host records nothing.
   * Refused by reconcile to_host, which does not only look.
   */
  peek: optionalFlag,
  /** to_host (also absent or empty) or from_host. */
  direction: optionalName,
  /** true, with the matching plan_identity: reconcile may stop nodes. */
  confirm: optionalFlag,
};

export const ProjectPayload = Type.Object(projectFields);
export type ProjectPayload = Static<typeof ProjectPayload>;

export const ImportPayload = Type.Object({ ...projectFields, lab: name });
export type ImportPayload = Static<typeof ImportPayload>;

export const ExecPayload = Type.Object({ ...projectFields, action: name });
export type ExecPayload = Static<typeof ExecPayload>;

/** One problem in the intent, with its place; lines and columns count from 1. */
export const Diagnostic = Type.Object({
  severity: word(["error", "warning"]),
  code: text,
  message: text,
  path: text,
  file: optionalText,
  line: integer,
  column: integer,
  end_line: integer,
  end_column: integer,
  hint: optionalText,
});
export type Diagnostic = Static<typeof Diagnostic>;

export const ValidateData = Type.Object({ status: text, warnings: Type.Optional(list(Diagnostic)) });
export type ValidateData = Static<typeof ValidateData>;

export const ImportData = Type.Object({
  name: optionalText,
  yaml: optionalText,
  files: optionalFiles,
  mode: optionalText,
  source_lab: optionalText,
  managed_lab: optionalText,
  lab: optionalText,
  state: optionalJson,
  source: optionalJson,
  manifest: optionalText,
});
export type ImportData = Static<typeof ImportData>;

/**
 * An unexpected effect of a change. stop_forced: a node did not stop in time and was powered off. left_running: the node runs, or may
 * run, on the host, and no call of the host ends it any more. wipe_needed: a running node gets its changed startup-config only after a wipe.
 * config_line: the software of the node does not accept a line of its startup-config. config_unchecked: the startup-configs could not be checked.
 * config_not_live: a running node did not take its changed startup-config, and gets it at its next start.
 * no_management_interface: the node has no interface in the lab's management network, or its guest may see it at its next start only.
 */
export const ChangeWarning = Type.Object({
  code: text,
  /** IaC node key. */
  node: text,
  message: text,
});
export type ChangeWarning = Static<typeof ChangeWarning>;

/** In the answers of changes, and in the data of their errors; absent: none. */
export const optionalWarnings = Type.Optional(list(ChangeWarning));

export const DeployData = Type.Object({
  /** Present in a fleet: where the new lab is, and why. */
  placement: Type.Optional(PlacementData),
  /** Images that come from other machines of the fleet. */
  image_fetches: Type.Optional(list(ImageFetchData)),
  lab: optionalText,
  nodes: optionalInteger,
  links: optionalInteger,
  state: optionalJson,
  unsupported: Type.Optional(list(text)),
  warnings: optionalWarnings,
});
export type DeployData = Static<typeof DeployData>;

export const DestroyData = Type.Object({ lab: optionalText, warnings: optionalWarnings });
export type DestroyData = Static<typeof DestroyData>;

/** Result of a power action for one node. */
export const NodeOutcome = Type.Object({
  /** IaC node key. */
  node: text,
  /** The node is as asked for, also where it was so before. */
  ok: flag,
  /** Why it is not, for people. */
  message: optionalText,
});
export type NodeOutcome = Static<typeof NodeOutcome>;

/** Nodes and networks that have got new numbers on the host; the disks of such nodes are wiped. Empty lists: no number was another lab's. */
export const RenumberData = Type.Object({
  lab: text,
  nodes: list(Type.Object({ node: text, before: integer, after: integer })),
  networks: list(Type.Object({ network: text, before: integer, after: integer })),
  state: optionalJson,
  warnings: optionalWarnings,
});
export type RenumberData = Static<typeof RenumberData>;

export const BulkResult = Type.Object({
  requested: integer,
  started: integer,
  already_running: integer,
  already_starting: integer,
  stopped: integer,
  already_stopped: integer,
  wiped: integer,
  failed: integer,
  invalid: integer,
  /** Each requested node. Only in answers of execProject. */
  nodes: Type.Optional(list(NodeOutcome)),
  warnings: optionalWarnings,
});
export type BulkResult = Static<typeof BulkResult>;

/** The change of a lab that is under way: in status, and in the data of lab_busy. */
export const RunningOperation = Type.Object({
  name: text,
  user: text,
  started_at: time,
  step: integer,
  steps: integer,
});
export type RunningOperation = Static<typeof RunningOperation>;
