import Type, { type Static } from "typebox";
import { LeaseState } from "./lease.ts";
import { RunningOperation } from "./project.ts";
import { ResumeState } from "./resume.ts";
import {
  flag,
  integer,
  json,
  list,
  map,
  number,
  optionalFlag,
  optionalInteger,
  optionalText,
  text,
  time,
  uniqueKey,
  word,
} from "./shapes.ts";
import { TestSummary } from "./tests.ts";

/** Impairment of the packets that one side of a link sends: delay and jitter in ms, loss in %, bandwidth in kbit/s (0: unlimited). */
export const LinkQuality = Type.Object({
  delay: Type.Optional(Type.Number({ minimum: 0, maximum: 10_000 })),
  jitter: Type.Optional(Type.Number({ minimum: 0, maximum: 10_000 })),
  loss: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
  bandwidth: Type.Optional(Type.Number({ minimum: 0, maximum: 10_000_000 })),
});
export type LinkQuality = Static<typeof LinkQuality>;

/** Both sides; an absent side has no impairment. */
export const LinkQualitySides = Type.Object({ a: Type.Optional(LinkQuality), b: Type.Optional(LinkQuality) });
export type LinkQualitySides = Static<typeof LinkQualitySides>;

/** unknown: something runs under the node's number on the host, and it is or may be another lab's node (`clash`); or the node's machine does not answer. */
export const NodeStatus = word(["stopped", "starting", "running", "stopping", "suspended", "failed", "unknown"]);
export type NodeStatus = Static<typeof NodeStatus>;

/**
 * Another node that runs, or may run, with the same number: labs of one user share numbers on EVE-NG Community Edition. lab and node are absent if no lab of the
 * host has it: a process that a deleted lab left behind, or a foreign program. certain false: it may also be this lab's own node.
 */
export const NumberClash = Type.Object({ number: integer, lab: optionalText, node: optionalText, certain: flag });
export type NumberClash = Static<typeof NumberClash>;

export const LiveNodeData = Type.Object({
  id: text,
  /** IaC node key; null if the row is not joined to the intent. */
  node: Type.Union([text, Type.Null()]),
  unique_key: uniqueKey,
  /** The node's name on the host. Several nodes may have the same name. */
  name: text,
  status: NodeStatus,
  /** The machine that it is on, of a lab that is spread over machines. Absent: that of the lab. */
  machine: optionalText,
  /** Its template's check and the conditions of its intent have passed. Absent: it has none of them. */
  ready: Type.Optional(flag),
  /** Why it is not ready, one line: the message of the check or condition that has not passed. */
  not_ready: optionalText,
  exit_code: optionalInteger,
  uptime_ms: Type.Optional(number),
  cpu_percent: Type.Optional(number),
  memory_bytes: Type.Optional(number),
  /** It ran and ended unasked, with all of its lab; resume starts it again. */
  lost: Type.Optional(word(["host_restart", "lab_killed"])),
  /** It is stopped; it was given time to end, did not, and was switched off. */
  forced: Type.Optional(flag),
  /** Disk space that it uses on the host; measured about a minute ago at most. */
  disk_bytes: Type.Optional(number),
  /** It is suspended, because its disk takes more than its limit (see inspect). Started, it goes on, and is suspended again when it writes more. */
  disk_full: Type.Optional(flag),
  /** Why ports that it publishes are closed, though it runs: one text for each. They are opened as soon as that is possible. */
  closed_ports: Type.Optional(list(text)),
  /** Present if the status is unknown because another lab uses the number of the node. */
  clash: Type.Optional(NumberClash),
  /** It has failed, and the host starts it only after a wipe. */
  stuck: Type.Optional(flag),
  /** It is stopped for the lab's host user, and runs (certain) or may run for this other one: the host keeps the power of nodes for each user. */
  other_user: Type.Optional(Type.Object({ user: text, certain: flag })),
});
export type LiveNodeData = Static<typeof LiveNodeData>;

export const LiveNetemData = Type.Object({
  link: text,
  endpoints: list(text),
  a: Type.Optional(LinkQuality),
  b: Type.Optional(LinkQuality),
});
export type LiveNetemData = Static<typeof LiveNetemData>;

/** available false: the live read failed, error is why, nodes and netem are absent. joined false: not all rows are mapped to IaC keys. */
export const LiveData = Type.Object({
  available: flag,
  joined: Type.Optional(flag),
  nodes: Type.Optional(list(LiveNodeData)),
  netem: Type.Optional(list(LiveNetemData)),
  /** Absent: the live read did not fail. */
  error: Type.Optional(Type.Object({ code: text, error: text })),
});
export type LiveData = Static<typeof LiveData>;

/** Each includes the ones before it. */
const LabRight = word(["view", "operate", "edit", "own"]);

/** A part of the source of an imported lab, and what became of it. */
export const LabSourceLine = Type.Object({
  /** Path of the file in the source. Absent: the source has one file, or is a lab of the host. */
  file: optionalText,
  /** JSON pointer into the file, or into the definition of the host. */
  path: text,
  line: optionalInteger,
  level: word(["kept", "mapped", "dropped"]),
  message: text,
});

export type LabSourceLine = Static<typeof LabSourceLine>;

/** Source of an imported lab. */
export const LabSourceData = Type.Object({
  /** Format of the file, or the kind of the host. */
  format: text,
  /** Path of the file in the source, or of the lab on the host; only for callers that may edit the lab. */
  lab: optionalText,
  /** Absent: the source is a file. */
  host: Type.Optional(Type.Object({ kind: text, url: text })),
  imported_at: optionalText,
  /** SHA-256 of the file, or of the definition on the host, hex. */
  digest: optionalText,
  /** Number of parts by what became of them. */
  counts: Type.Object({ kept: integer, mapped: integer, dropped: integer }),
  /** Only if the call has `report: true`. */
  report: Type.Optional(list(LabSourceLine)),
  /** Number of lines that the report lacks, because it is too long. */
  report_left_out: optionalInteger,
});
export type LabSourceData = Static<typeof LabSourceData>;

export const StatusData = Type.Object({
  lab: text,
  /** Present in a fleet: the machine of the lab. */
  machine: optionalText,
  name: text,
  mode: text,
  /** The caller's right on the lab; absent: the service does not manage the lab. */
  right: Type.Optional(LabRight),
  exists: flag,
  /** true: the host holds the lab and lost its definition; an admin restores or deletes it. Absent: it is not in quarantine. */
  quarantined: Type.Optional(flag),
  /** The lab was moved or renamed on the host, and this is its path there now. Absent: it was not, or the host cannot find labs by their id. */
  moved_to: optionalText,
  locked: flag,
  operation: Type.Optional(RunningOperation),
  /** The newest change of the lab that ended; outcome as in a job. failed_early: it failed before it had any steps, and changed nothing. */
  last_job: Type.Optional(Type.Object({ job: text, operation: text, outcome: text, finished_at: time, failed_early: optionalFlag })),
  /** The `origin` that came with the last change of the lab; only for callers that may edit it. Absent: none came with it. */
  origin: optionalText,
  /** Absent: the lab is not imported. */
  source: Type.Optional(LabSourceData),
  /** Absent: nothing waits to come back, and the policy is never. */
  resume: Type.Optional(ResumeState),
  /** Last use by a user: a change, a way into a node, or typing on a console. Absent: none is known. */
  used_at: Type.Optional(time),
  /** Absent: the lab has none. */
  lease: Type.Optional(LeaseState),
  /** Absent: they were not run, or not since this is recorded. */
  tests: Type.Optional(TestSummary),
  /** Absent: the project has no runtime lab. */
  live: Type.Optional(LiveData),
});
export type StatusData = Static<typeof StatusData>;

export const PositionData = Type.Object({ x: number, y: number });
export type PositionData = Static<typeof PositionData>;

export const InspectedInterface = Type.Object({
  name: text,
  index: integer,
  type: word(["ethernet", "serial"]),
  mac: optionalText,
  /** Key of the network it is attached to. */
  network: optionalText,
  /** Key of the link. */
  link: optionalText,
  /** "node:interface", or the key of a network. */
  peer: optionalText,
  suspended: flag,
  quality: Type.Optional(LinkQuality),
  /** Addresses of the interface while the node runs, with prefix lengths, such as 10.0.0.1/24. Read at each call. Absent: it has none, or the host does not know them. */
  addresses: Type.Optional(list(text)),
});
export type InspectedInterface = Static<typeof InspectedInterface>;

/** Limits that the host enforces for a node; absent: no limit. cpu in cores; disk: all files of the node together. */
export const NodeLimitsData = Type.Object({
  cpu: Type.Optional(number),
  memory_bytes: Type.Optional(number),
  processes: optionalInteger,
  disk_bytes: Type.Optional(number),
});
export type NodeLimitsData = Static<typeof NodeLimitsData>;

export const InspectedNode = Type.Object({
  id: text,
  /** IaC node key; null if the node is not joined to the intent. */
  node: Type.Union([text, Type.Null()]),
  unique_key: uniqueKey,
  /** The node's name on the host. Several nodes may have the same name. */
  name: text,
  template: text,
  type: text,
  image: optionalText,
  icon: optionalText,
  status: NodeStatus,
  /** The machine that it is on, of a lab that is spread over machines. Absent: that of the lab. */
  machine: optionalText,
  /** Cores: as declared, else from the template, else the node's limit; 0: no limit of its own. */
  cpu: number,
  /** MiB: as declared, else the template's, else what the node is limited to; 0: no limit of its own. */
  ram: number,
  position: PositionData,
  /** true: neither intent nor host has a position for it; this one is free, and means nothing. */
  placed: optionalFlag,
  console: Type.Object({ type: text }),
  /** Absent: none, or the host does not report it. */
  limits: Type.Optional(NodeLimitsData),
  /** Absent: none, or the host stores no labels. */
  labels: Type.Optional(map(text)),
  /** Published ports, [ADDRESS:]PORT:NODE-PORT. Without an address: 127.0.0.1 and ::1 of the service's machine. Absent: none. */
  ports: Type.Optional(list(text)),
  /** Address of a running node in the lab's management network, with its prefix: that of its interface mgmt0. Absent: none. */
  management: optionalText,
  /** The same for IPv6. */
  management_ipv6: optionalText,
  /** true: the node starts an SSH server for the keys of ssh-keys. */
  ssh: optionalFlag,
  interfaces: list(InspectedInterface),
});
export type InspectedNode = Static<typeof InspectedNode>;

export const InspectedNetwork = Type.Object({
  id: text,
  /** Network key; null if it is not joined to the intent. */
  key: Type.Union([text, Type.Null()]),
  /** Always set. The key of the network in plans, links and calls: `key`, or a key made from its name, which no other network or node has. */
  unique_key: optionalText,
  name: text,
  type: text,
  icon: optionalText,
  position: Type.Optional(PositionData),
  /** For type vxlan: the tunnel to the network with the same VNI on another machine. Without port: 4789. */
  vxlan: Type.Optional(Type.Object({ remote: text, vni: integer, port: optionalInteger })),
});
export type InspectedNetwork = Static<typeof InspectedNetwork>;

export const InspectedLink = Type.Object({
  id: text,
  key: text,
  endpoints: list(text),
  kind: word(["p2p", "network"]),
  suspended: flag,
  stored_quality: Type.Optional(LinkQualitySides),
  quality: Type.Optional(LinkQualitySides),
});
export type InspectedLink = Static<typeof InspectedLink>;

/** A shape of the drawing. A rectangle or ellipse has width and height, a line x2 and y2. */
export const ShapeData = Type.Object({
  type: word(["rectangle", "ellipse", "line"]),
  x: number,
  y: number,
  width: Type.Optional(number),
  height: Type.Optional(number),
  x2: Type.Optional(number),
  y2: Type.Optional(number),
  /** #rrggbb or #rrggbbaa; absent: gray. */
  color: optionalText,
  /** Absent: solid. */
  style: Type.Optional(word(["solid", "dashed", "dotted"])),
  /** px; absent: 2. */
  thickness: Type.Optional(number),
  layer: Type.Optional(integer),
  /** #rrggbb or #rrggbbaa; absent: empty. */
  fill: optionalText,
  /** Rotation of a rectangle or ellipse around its middle, clockwise, degrees; absent: upright. */
  rotation: Type.Optional(number),
  /** The mark at (x, y) of a line; absent: none. */
  start: Type.Optional(word(["arrow", "circle", "square"])),
  /** The mark at (x2, y2) of a line; absent: none. */
  end: Type.Optional(word(["arrow", "circle", "square"])),
});
export type ShapeData = Static<typeof ShapeData>;

export const InspectionData = Type.Object({
  lab: text,
  /** Present in a fleet: the machine of the lab. */
  machine: optionalText,
  name: text,
  description: optionalText,
  mode: text,
  locked: flag,
  lock: integer,
  cached: flag,
  taken_at: time,
  nodes: list(InspectedNode),
  networks: list(InspectedNetwork),
  links: list(InspectedLink),
  texts: list(Type.Object({ text, x: number, y: number })),
  /** Those of the intent, in the order of drawing. Absent: none. */
  shapes: Type.Optional(list(ShapeData)),
});
export type InspectionData = Static<typeof InspectionData>;

/** A page that shows the lab. */
export const OpenData = Type.Object({ lab: text, url: text, expires_at: Type.Optional(time) });
export type OpenData = Static<typeof OpenData>;

export const LabEntry = Type.Object({
  lab: text,
  /** Present in a fleet: the machine of the lab. */
  machine: optionalText,
  /** Present if that machine does not answer: its last report. exists is then what the record has. */
  unreachable_since: Type.Optional(time),
  name: text,
  mode: text,
  owner: optionalText,
  /** The caller's right on it; absent: the service does not manage it. */
  right: Type.Optional(LabRight),
  exists: flag,
  locked: Type.Optional(flag),
  /** As in status. */
  origin: optionalText,
  /** Nodes of the recorded intent. Absent: unknown, as for a lab that the service does not manage. */
  nodes: optionalInteger,
  /** As in status. */
  resume: Type.Optional(ResumeState),
  /** As in status. */
  used_at: Type.Optional(time),
  /** As in status. */
  lease: Type.Optional(LeaseState),
  /** As in status. */
  tests: Type.Optional(TestSummary),
  updated_at: Type.Optional(time),
});
export type LabEntry = Static<typeof LabEntry>;

export const LabsData = Type.Object({ labs: list(LabEntry) });
export type LabsData = Static<typeof LabsData>;

export const EventsQuery = Type.Object({
  /** Only events of this lab. Absent: of every lab that the caller may see. */
  lab: optionalText,
  /**
   * Comma list of event types; absent: all but presence. presence, with a lab: also show the caller to the other users that look at it. Heartbeats and gaps
   * always come.
   */
  types: optionalText,
  /** Resume after this event id (also the header Last-Event-ID). */
  after: optionalText,
});
export type EventsQuery = Static<typeof EventsQuery>;

/**
 * What happened. `data` by type – node: {id, node, unique_key, name, status, previous?, ready?, exit_code?, forced?, disk_full?, closed_ports?}; link: {id, link, a?, b?}, the link's
 * effective quality; lab: {change: created|updated|deleted}, {live: available|unavailable|absent}, {resume: waiting|begins|done|failed, nodes},
 * or {lease: warning|ended|failed, at_end, reason?, ends_at?, code?}; capture: {capture, node, interface, status: running|stopped|failed|removed, reason?}; job: {job, operation, user, status,
 * step, steps, outcome?, error?, duration_ms?}; presence: {users}, all users that look at the lab; gap: {after, reason: restart|history}: events may be missing, read the state again; heartbeat: none.
 */
export const EventData = Type.Object({
  id: text,
  at: time,
  type: word(["node", "link", "lab", "job", "capture", "presence", "gap", "heartbeat"]),
  lab: optionalText,
  data: Type.Optional(json),
});
export type EventData = Static<typeof EventData>;
