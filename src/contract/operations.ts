import type { ErrorCode } from "./errors.ts";
import type { Answers, Requests } from "./schemas/table.ts";

/** How an operation answers. data: the envelope; upgrade: 101 and raw bytes; events: NDJSON or SSE; bytes: a body with its own media type; document: plain JSON. */
export type AnswerKind = "data" | "upgrade" | "events" | "bytes" | "document";
export type StreamProtocol = "host-telnet" | "host-traffic" | "host-capture";

export interface OperationRow {
  readonly method: "GET" | "POST" | "PUT";
  /** Parameters in braces: /api/v1/templates/{id}. */
  readonly path: string;
  /** Further paths with the same answer. */
  readonly aliases?: readonly string[];
  /** bearer: a token, or the cookie of a browser session. ticket: a token, or a one-time browser ticket in the body. */
  readonly auth: "none" | "bearer" | "ticket";
  /** Default time-out of a caller, milliseconds. */
  readonly timeoutMs: number;
  /** May be sent again, once, after a new login. */
  readonly replay: boolean;
  /** json: an object is required; unread: any body is discarded; none: no body. */
  readonly body: "json" | "unread" | "none";
  /** Bytes. */
  readonly maxBody: number;
  readonly unknownFields: "ignore" | "refuse";
  readonly answer: AnswerKind;
  /** For an upgrade: the value of the Upgrade header. `Upgrade: websocket` carries the same bytes in binary frames. */
  readonly protocol?: StreamProtocol;
  /** A journaled change: Prefer: respond-async answers {job} at once. */
  readonly change: boolean;
  /** The capability that it needs. */
  readonly feature?: string;
  /** Error codes of this operation, in addition to commonErrors. */
  readonly errors: readonly ErrorCode[];
  readonly summary: string;
}

/** Error codes of every operation. not_found and method_not_allowed come from the router. */
export const commonErrors = [
  "tls_required",
  "tls_untrusted",
  "tls_pin_mismatch",
  "bad_request",
  "internal",
  "overloaded",
  "shutting_down",
] as const satisfies ErrorCode[];

const maxBody = 33_554_432;
const get = { method: "GET", body: "none", maxBody: 0, unknownFields: "ignore", answer: "data", change: false } as const;
const post = { method: "POST", body: "json", maxBody, unknownFields: "ignore", answer: "data", change: false } as const;
const bare = { ...post, body: "unread" } as const;
const change = { ...post, change: true } as const;

const bearer = ["unauthenticated", "expired_agent_session"] as const;
/** Failures of the connection to the host. */
const hostTrouble = ["host_error", "host_unreachable", "host_timeout", "tls_untrusted", "tls_pin_mismatch"] as const;
const host = [...bearer, "expired_host_session", ...hostTrouble] as const;
const bodied = ["payload_too_large", "unsupported_media_type"] as const;
/** Intents are parsed in a limited number of threads. */
const reading = ["field_not_allowed", "invalid_intent", "rate_limited"] as const;
const authoring = [...host, ...bodied, ...reading, "template_not_found", "node_not_found"] as const;
const project = [...host, ...bodied, ...reading, "lab_not_found", "operation_not_allowed"] as const;
const changing = [...project, "lab_busy", "lab_locked", "lab_locked_mid_apply", "cancelled", "unsupported"] as const;
/** Of hosts whose labs share numbers, and whose users have power of their own. */
const powering = [...changing, "number_clash", "node_stuck"] as const;
const removing = [...powering, "lab_in_use"] as const;
/** Of one link, in one step: cancelled only before it. */
const linkChange = [...project, "lab_busy", "lab_locked", "cancelled", "unsupported", "link_not_found"] as const;
const consoles = [...project, "node_not_found", "node_not_running", "number_clash", "unsupported"] as const;
const snapshotChange = [...project, "lab_busy", "cancelled", "unsupported", "nodes_running"] as const;
const captures = [...host, "capture_not_found", "operation_not_allowed", "unsupported"] as const;
const quarantine = [...host, "operation_not_allowed"] as const;

/** Every operation of API v1. Append-only. */
export const operations = {
  getHealth: {
    ...get,
    path: "/api/v1/health",
    aliases: ["/health"],
    auth: "none",
    timeoutMs: 15_000,
    replay: false,
    errors: [],
    summary: "Whether the service runs, and its version; answers without a host",
  },
  login: {
    ...post,
    path: "/api/v1/login",
    auth: "none",
    timeoutMs: 15_000,
    replay: false,
    maxBody: 16_384,
    unknownFields: "refuse",
    errors: [...bodied, "unknown_field", "invalid_credentials", "rate_limited", ...hostTrouble],
    summary: "Sign in: a bearer token for a user name and password of the host",
  },
  logout: {
    ...bare,
    path: "/api/v1/logout",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: false,
    errors: bearer,
    summary: "Revoke the token and close the streams opened with it",
  },
  getSession: {
    ...get,
    path: "/api/v1/session",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: bearer,
    summary: "Who the token belongs to",
  },
  createBrowserSession: {
    ...post,
    path: "/api/v1/browser/session",
    auth: "ticket",
    timeoutMs: 15_000,
    replay: false,
    maxBody: 16_384,
    errors: [...bearer, ...bodied, "browser_token_invalid", "session_exists"],
    summary: "A cookie for web pages, bound to the session of the token, or of the one-time ticket in the body",
  },
  getCapabilities: {
    ...get,
    path: "/api/v1/capabilities",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: host,
    summary: "Features that the host supports now, and the operations that each project mode allows",
  },
  listTemplates: {
    ...get,
    path: "/api/v1/templates",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: host,
    summary: "Node templates; provisioned=true returns only templates with an image",
  },
  getTemplate: {
    ...get,
    path: "/api/v1/templates/{id}",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: [...host, "template_not_found"],
    summary: "One template with its images and attributes",
  },
  listTemplateImages: {
    ...get,
    path: "/api/v1/templates/{id}/images",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: [...host, "template_not_found"],
    summary: "Images of a template",
  },
  listTemplateAttributes: {
    ...get,
    path: "/api/v1/templates/{id}/attributes",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: [...host, "template_not_found"],
    summary: "Attributes of a template",
  },
  listNetworkTypes: {
    ...get,
    path: "/api/v1/network-types",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: host,
    summary: "Network types of the host",
  },
  listIcons: {
    ...get,
    path: "/api/v1/icons",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: host,
    summary: "Icons of the host",
  },
  getHostLoad: {
    ...get,
    path: "/api/v1/host/load",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "hostLoad",
    errors: [...host, "unsupported"],
    summary: "How busy the host is: processor, memory, disk, and how many nodes run on it",
  },
  listHostUsers: {
    ...get,
    path: "/api/v1/host/users",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "hostUsers",
    errors: [...host, "operation_not_allowed", "unsupported"],
    summary: "Users of the host; for admins",
  },
  completeLinkInterfaces: {
    ...post,
    path: "/api/v1/authoring/link-completions",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: authoring,
    summary: "Interfaces for a link's endpoint, in the order a person would take them",
  },
  previewInterfaces: {
    ...post,
    path: "/api/v1/authoring/interfaces",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: authoring,
    summary: "Interfaces that nodes of an intent, or of a bare template, will have",
  },
  validateProject: {
    ...post,
    path: "/api/v1/projects/validate",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: [...bearer, ...bodied, ...reading],
    summary: "Check an intent; every problem at once",
  },
  importProject: {
    ...change,
    path: "/api/v1/projects/import",
    auth: "bearer",
    timeoutMs: 300_000,
    replay: false,
    feature: "importLab",
    errors: [...removing, "lab_exists"],
    summary: "Clone a source lab into a managed working copy; the source is left alone",
  },
  planProject: {
    ...post,
    path: "/api/v1/projects/plan",
    auth: "bearer",
    timeoutMs: 180_000,
    replay: true,
    errors: [...project, "invalid_direction", "plan_stale"],
    summary: "The difference between intent and host, as a dry run",
  },
  deployProject: {
    ...change,
    path: "/api/v1/projects/deploy",
    auth: "bearer",
    timeoutMs: 300_000,
    replay: false,
    errors: [...removing, "lab_exists"],
    summary: "Create the lab and start it; replace true recreates an existing one",
  },
  reconcileProject: {
    ...change,
    path: "/api/v1/projects/reconcile",
    auth: "bearer",
    timeoutMs: 300_000,
    replay: false,
    errors: [...removing, "invalid_direction", "plan_stale"],
    summary: "Make the host match the intent (to_host), or answer the host's definition as intent (from_host)",
  },
  destroyProject: {
    ...change,
    path: "/api/v1/projects/destroy",
    auth: "bearer",
    timeoutMs: 180_000,
    replay: false,
    errors: removing,
    summary: "Remove the lab; its nodes are wiped unless wipe is false",
  },
  getProjectStatus: {
    ...post,
    path: "/api/v1/projects/status",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: [...project, "node_not_found"],
    summary: "The light live poll; 200 even when the live read fails",
  },
  inspectProject: {
    ...post,
    path: "/api/v1/projects/inspect",
    auth: "bearer",
    timeoutMs: 300_000,
    replay: true,
    errors: [...project, "node_not_found"],
    summary: "The structural snapshot; refresh true goes past the cache",
  },
  openProject: {
    ...post,
    path: "/api/v1/projects/open",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: true,
    errors: [...project, "unsupported"],
    summary: "A page that shows the lab",
  },
  listProjectConsoles: {
    ...post,
    path: "/api/v1/projects/consoles",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: true,
    errors: [...project, "node_not_found"],
    summary: "Consoles of the lab's nodes",
  },
  execProject: {
    ...change,
    path: "/api/v1/projects/exec",
    auth: "bearer",
    timeoutMs: 180_000,
    replay: false,
    errors: [...powering, "invalid_action", "node_not_found"],
    summary: "Start, stop or wipe nodes",
  },
  execConsole: {
    ...post,
    path: "/api/v1/console/exec",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: false,
    errors: [...consoles, "console_in_use", "console_timeout"],
    summary: "One command on one node; answers when the prompt is back",
  },
  execConsoleMany: {
    ...post,
    path: "/api/v1/console/exec-many",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: false,
    errors: consoles,
    summary: "Commands on several nodes; each target has its own outcome",
  },
  attachConsole: {
    ...post,
    path: "/api/v1/console/attach",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "consoleStream",
    errors: [...consoles, "browser_token_invalid"],
    summary: "A one-time ticket for a console's byte stream",
  },
  readConsoleLog: {
    ...post,
    path: "/api/v1/console/log",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "consoleLog",
    errors: [...project, "node_not_found", "unsupported"],
    summary: "Console output of a node since its last start, also of a node that has stopped",
  },
  runConsole: {
    ...post,
    path: "/api/v1/console/run",
    auth: "bearer",
    timeoutMs: 180_000,
    replay: false,
    feature: "consoleRun",
    errors: [...consoles, "console_in_use", "console_timeout"],
    summary: "An ordered dialogue of expect and send",
  },
  streamConsole: {
    ...get,
    path: "/api/v1/console/stream/{ticket}",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: false,
    answer: "upgrade",
    protocol: "host-telnet",
    feature: "consoleStream",
    errors: [
      ...host,
      "browser_token_invalid",
      "lab_not_found",
      "operation_not_allowed",
      "node_not_found",
      "node_not_running",
      "number_clash",
      "unsupported",
    ],
    summary: "The console's raw bytes, after Upgrade: host-telnet; or in frames, after Upgrade: websocket",
  },
  applyLinkQuality: {
    ...change,
    path: "/api/v1/projects/links/quality",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "linkQuality",
    errors: linkChange,
    summary: "Set delay, jitter, loss and bandwidth of a live link; save true persists",
  },
  setLinkSuspend: {
    ...change,
    path: "/api/v1/projects/links/suspend",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "linkSuspend",
    errors: linkChange,
    summary: "Take a link's carrier away, or give it back",
  },
  startCapture: {
    ...post,
    path: "/api/v1/projects/capture",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "capture",
    errors: [...project, "node_not_found", "link_not_found", "node_not_running", "capture_limit", "rate_limited", "unsupported"],
    summary: "Capture the packets of one interface",
  },
  listCaptures: {
    ...get,
    path: "/api/v1/projects/captures",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "capture",
    errors: [...captures, "lab_not_found"],
    summary: "Captures of a lab",
  },
  getCapture: {
    ...get,
    path: "/api/v1/projects/captures/{id}",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "capture",
    errors: captures,
    summary: "One capture",
  },
  downloadCapture: {
    ...get,
    path: "/api/v1/projects/captures/{id}/pcapng",
    auth: "bearer",
    timeoutMs: 300_000,
    replay: true,
    answer: "bytes",
    feature: "capture",
    errors: captures,
    summary: "The packets as pcapng, also while the capture runs",
  },
  listCapturePackets: {
    ...get,
    path: "/api/v1/projects/captures/{id}/packets",
    auth: "bearer",
    timeoutMs: 60_000,
    replay: true,
    feature: "capture",
    errors: captures,
    summary: "Decoded packets of a capture as rows, optionally after a packet number, from an offset, or matching a display filter",
  },
  getCapturePacket: {
    ...get,
    path: "/api/v1/projects/captures/{id}/packets/{number}",
    auth: "bearer",
    timeoutMs: 60_000,
    replay: true,
    feature: "capture",
    errors: captures,
    summary: "One packet of a capture: every field, and its bytes",
  },
  stopCapture: {
    ...bare,
    path: "/api/v1/projects/captures/{id}/stop",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "capture",
    errors: captures,
    summary: "Stop a capture; its packets stay",
  },
  removeCapture: {
    ...bare,
    path: "/api/v1/projects/captures/{id}/remove",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "capture",
    errors: captures,
    summary: "Stop a capture where it runs, and remove its packets",
  },
  attachCapture: {
    ...bare,
    path: "/api/v1/projects/captures/{id}/attach",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "capture",
    errors: [...captures, "rate_limited"],
    summary: "A one-time ticket for a capture's packets as they come",
  },
  streamCapture: {
    ...get,
    path: "/api/v1/projects/captures/stream/{ticket}",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: false,
    answer: "upgrade",
    protocol: "host-capture",
    feature: "capture",
    errors: [...captures, "browser_token_invalid"],
    summary: "One pcapng: the packets there are, then each that comes until the capture ends, after Upgrade: host-capture",
  },
  getPublicProject: {
    ...post,
    path: "/api/v1/projects/public",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: project,
    summary: "The intent and its revision; without secrets, or as written for users who may edit the lab",
  },
  editProject: {
    ...post,
    path: "/api/v1/projects/edit",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    errors: [...project, "lab_busy", "plan_stale"],
    summary: "Replace one section of the intent; comments are kept",
  },
  attachTraffic: {
    ...post,
    path: "/api/v1/projects/traffic/attach",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "traffic",
    errors: [...project, "node_not_found", "link_not_found", "capture_limit", "unsupported", "rate_limited"],
    summary: "A one-time ticket for a stream of translated packets",
  },
  streamTraffic: {
    ...get,
    path: "/api/v1/projects/traffic/stream/{ticket}",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: false,
    answer: "upgrade",
    protocol: "host-traffic",
    feature: "traffic",
    errors: [...host, "browser_token_invalid", "lab_not_found", "operation_not_allowed", "unsupported"],
    summary: "One JSON object per line for each packet, with the lab's node and link names, after Upgrade: host-traffic",
  },
  listLabs: {
    ...get,
    path: "/api/v1/labs",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: host,
    summary: "The caller's labs",
  },
  getLabGrants: {
    ...get,
    path: "/api/v1/labs/grants",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: [...host, "lab_not_found"],
    summary: "With whom a lab is shared",
  },
  setLabGrants: {
    ...post,
    method: "PUT",
    path: "/api/v1/labs/grants",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: project,
    summary: "Share a lab: set which users may view, operate or edit it; for its owner and admins",
  },
  setLabLock: {
    ...post,
    method: "PUT",
    path: "/api/v1/labs/lock",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: true,
    feature: "lock",
    errors: [...project, "unsupported"],
    summary: "Lock a lab: changes are refused, and a running change stops after its current step; or unlock it",
  },
  listQuarantine: {
    ...get,
    path: "/api/v1/quarantine",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: true,
    errors: quarantine,
    summary: "Labs whose definition on the host is missing or does not read, and labs that run without one; for admins",
  },
  restoreQuarantined: {
    ...bare,
    path: "/api/v1/quarantine/{id}/restore",
    auth: "bearer",
    timeoutMs: 60_000,
    replay: false,
    errors: [...quarantine, "lab_not_found", "lab_exists"],
    summary: "Make a lab of the quarantine known again, by its last good definition; for admins",
  },
  deleteQuarantined: {
    ...bare,
    path: "/api/v1/quarantine/{id}/delete",
    auth: "bearer",
    timeoutMs: 60_000,
    replay: false,
    errors: [...quarantine, "lab_not_found"],
    summary: "End what runs of a lab of the quarantine and remove its disks; for admins",
  },
  setLabResume: {
    ...post,
    method: "PUT",
    path: "/api/v1/labs/resume",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "resume",
    errors: [...project, "unsupported"],
    summary: "Whether what ran in a lab when the host went down comes back by itself when the service starts",
  },
  saveConfigs: {
    ...change,
    path: "/api/v1/projects/save",
    auth: "bearer",
    timeoutMs: 300_000,
    replay: false,
    feature: "saveConfigs",
    errors: [...project, "lab_busy", "lab_locked", "cancelled", "unsupported", "node_not_found"],
    summary: "Make running nodes keep the configuration that they run with, and return it",
  },
  resumeLab: {
    ...change,
    path: "/api/v1/projects/resume",
    auth: "bearer",
    timeoutMs: 180_000,
    replay: false,
    feature: "resume",
    errors: changing,
    summary: "Start again the nodes that ended when the host went down, or with their lab",
  },
  renumberLab: {
    ...change,
    path: "/api/v1/projects/renumber",
    auth: "bearer",
    timeoutMs: 180_000,
    replay: false,
    feature: "renumber",
    errors: [...changing, "number_clash", "lab_in_use"],
    summary:
      "Give nodes and networks of a stopped lab new numbers if other labs of the host user use the same; the disks of renumbered nodes are wiped",
  },
  listSnapshots: {
    ...post,
    path: "/api/v1/projects/snapshots",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: true,
    feature: "snapshots",
    errors: [...project, "unsupported"],
    summary: "Snapshots of a lab",
  },
  takeSnapshot: {
    ...change,
    path: "/api/v1/projects/snapshots/take",
    auth: "bearer",
    timeoutMs: 180_000,
    replay: false,
    feature: "snapshots",
    errors: [...snapshotChange, "number_clash", "snapshot_exists"],
    summary: "Copy a stopped lab's definition under a name; disks of nodes are not copied",
  },
  restoreSnapshot: {
    ...change,
    path: "/api/v1/projects/snapshots/restore",
    auth: "bearer",
    timeoutMs: 180_000,
    replay: false,
    feature: "snapshots",
    errors: [...snapshotChange, "number_clash", "snapshot_not_found", "lab_locked", "lab_in_use"],
    summary:
      "Give a stopped lab the definition of a snapshot; nodes that it had and the snapshot has not are deleted, and the intent stays as it is",
  },
  removeSnapshot: {
    ...change,
    path: "/api/v1/projects/snapshots/remove",
    auth: "bearer",
    timeoutMs: 180_000,
    replay: false,
    feature: "snapshots",
    errors: [...snapshotChange, "snapshot_not_found"],
    summary: "Remove a snapshot",
  },
  listPictures: {
    ...post,
    path: "/api/v1/projects/pictures",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: true,
    feature: "pictures",
    errors: [...project, "unsupported"],
    summary: "Pictures that a lab holds, and the nodes whose consoles their hotspots open",
  },
  getPicture: {
    ...get,
    path: "/api/v1/projects/pictures/{id}",
    auth: "bearer",
    timeoutMs: 60_000,
    replay: true,
    answer: "bytes",
    feature: "pictures",
    errors: [...host, "lab_not_found", "picture_not_found", "payload_too_large", "unsupported"],
    summary: "One picture of a lab: a PNG, JPEG, GIF or WebP by its bytes, anything else as application/octet-stream",
  },
  getTasks: {
    ...post,
    path: "/api/v1/projects/tasks",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: true,
    feature: "tasks",
    errors: [...project, "unsupported"],
    summary: "The tasks that the author of a lab wrote for its users, as text",
  },
  adoptLab: {
    ...post,
    path: "/api/v1/labs/adopt",
    auth: "bearer",
    timeoutMs: 60_000,
    replay: false,
    errors: [...host, ...bodied, "field_not_allowed", "lab_not_found", "operation_not_allowed", "lab_exists", "lab_busy"],
    summary: "Give a lab that the service has no record of an owner and a record, with the intent that its host has; for admins",
  },
  listDisks: {
    ...get,
    path: "/api/v1/disks",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: true,
    feature: "keptDisks",
    errors: [...host, "unsupported"],
    summary: "Disks of labs that were destroyed without wiping: the caller's, for an admin all",
  },
  removeDisks: {
    ...bare,
    path: "/api/v1/disks/{id}/remove",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "keptDisks",
    errors: [...host, "disks_not_found", "operation_not_allowed", "unsupported"],
    summary: "Remove kept disks; for their owner and admins",
  },
  events: {
    ...get,
    path: "/api/v1/events",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    answer: "events",
    feature: "events",
    errors: [...host, "lab_not_found"],
    summary: "Node, link, lab, job and capture events as NDJSON, or SSE by Accept; resumes after an id",
  },
  listJobs: {
    ...get,
    path: "/api/v1/jobs",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "jobs",
    errors: bearer,
    summary: "The newest changes that the caller may see, a hundred at most",
  },
  getJob: {
    ...get,
    path: "/api/v1/jobs/{id}",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "jobs",
    errors: [...bearer, "job_not_found"],
    summary: "A change: its progress and, when it ended, its result",
  },
  cancelJob: {
    ...bare,
    path: "/api/v1/jobs/{id}/cancel",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: false,
    feature: "jobs",
    errors: [...bearer, "job_not_found", "operation_not_allowed"],
    summary: "Stop a change after the step in flight",
  },
  getOpenApi: {
    ...get,
    path: "/api/v1/openapi.json",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    answer: "document",
    errors: bearer,
    summary: "This interface as an OpenAPI 3.1 document",
  },
  getMetrics: {
    ...get,
    path: "/metrics",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    answer: "bytes",
    errors: [...bearer, "operation_not_allowed"],
    summary: "Counters, gauges and histograms for Prometheus; for admins and viewers",
  },
} as const satisfies Record<string, OperationRow>;

export type OperationId = keyof typeof operations;

/** Ids of the operations that answer with 101 and raw bytes. */
export type StreamOperationId = { [Id in OperationId]: (typeof operations)[Id]["answer"] extends "upgrade" ? Id : never }[OperationId];

/** Ids of the changes that Prefer: respond-async turns into a job. */
export type ChangeOperationId = { [Id in OperationId]: (typeof operations)[Id]["change"] extends true ? Id : never }[OperationId];

/** `{body, query, params}` of an operation; undefined for a part that it does not read. */
export type RequestOf<Id extends OperationId> = Requests[Id];

/** The answer of an operation: `data` of the envelope; or, by its answer kind, UpgradeGrant, BytesAnswer or an iterable of EventData. */
export type DataOf<Id extends OperationId> = Answers[Id];

/** A granted upgrade. The service adds how to attach, a client the open connection. */
export interface UpgradeGrant {
  readonly protocol: StreamProtocol;
}

/** A body that is not an envelope. */
export interface BytesAnswer {
  readonly mediaType: string;
  /** Suggested file name of a download. */
  readonly filename?: string;
  readonly body: string | AsyncIterable<Uint8Array>;
}
