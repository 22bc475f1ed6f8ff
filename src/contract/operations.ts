import type { ErrorCode } from "./errors.ts";
import type { Answers, Requests } from "./schemas/table.ts";

/** How an operation answers. data: the envelope; upgrade: 101 and raw bytes; events: NDJSON or SSE; bytes: a body with its own media type; document: plain JSON. */
export type AnswerKind = "data" | "upgrade" | "events" | "bytes" | "document";
export type StreamProtocol = "host-telnet" | "host-traffic" | "host-capture" | "host-process";

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
    summary: "Return the version of the running service; works without a host",
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
    summary: "Sign in with a user name and password of the host; returns a bearer token",
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
    summary: "Return the user of the token",
  },
  createBrowserSession: {
    ...post,
    path: "/api/v1/browser/session",
    auth: "ticket",
    timeoutMs: 15_000,
    replay: false,
    maxBody: 16_384,
    errors: [...bearer, ...bodied, "browser_token_invalid", "session_exists"],
    summary: "Set a cookie for web pages; it belongs to the session of the token, or of the one-time ticket in the body",
  },
  getCapabilities: {
    ...get,
    path: "/api/v1/capabilities",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: host,
    summary: "Return the features that the host supports now, and the operations that each project mode allows",
  },
  listTemplates: {
    ...get,
    path: "/api/v1/templates",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: host,
    summary: "List node templates; provisioned=true returns only templates with an image",
  },
  getTemplate: {
    ...get,
    path: "/api/v1/templates/{id}",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: [...host, "template_not_found"],
    summary: "Return a template with its images and attributes",
  },
  listTemplateImages: {
    ...get,
    path: "/api/v1/templates/{id}/images",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: [...host, "template_not_found"],
    summary: "List the images of a template",
  },
  listTemplateAttributes: {
    ...get,
    path: "/api/v1/templates/{id}/attributes",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: [...host, "template_not_found"],
    summary: "List the attributes of a template",
  },
  listNetworkTypes: {
    ...get,
    path: "/api/v1/network-types",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: host,
    summary: "List the network types of the host",
  },
  listIcons: {
    ...get,
    path: "/api/v1/icons",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: host,
    summary: "List the icons of the host",
  },
  getHostLoad: {
    ...get,
    path: "/api/v1/host/load",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "hostLoad",
    errors: [...host, "unsupported"],
    summary: "Return the load of the host: processor, memory, disk, and the number of running nodes",
  },
  listHostUsers: {
    ...get,
    path: "/api/v1/host/users",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "hostUsers",
    errors: [...host, "operation_not_allowed", "unsupported"],
    summary: "List the users of the host; for admins",
  },
  completeLinkInterfaces: {
    ...post,
    path: "/api/v1/authoring/link-completions",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: authoring,
    summary: "Suggest interfaces for an endpoint of a link, the most likely first",
  },
  previewInterfaces: {
    ...post,
    path: "/api/v1/authoring/interfaces",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: authoring,
    summary: "Return the interfaces that the nodes of an intent, or a node of a template, will have",
  },
  validateProject: {
    ...post,
    path: "/api/v1/projects/validate",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: [...bearer, ...bodied, ...reading],
    summary: "Check an intent; returns all problems",
  },
  importProject: {
    ...change,
    path: "/api/v1/projects/import",
    auth: "bearer",
    timeoutMs: 300_000,
    replay: false,
    feature: "importLab",
    errors: [...removing, "lab_exists"],
    summary: "Clone a source lab as a managed lab; the source is not changed",
  },
  planProject: {
    ...post,
    path: "/api/v1/projects/plan",
    auth: "bearer",
    timeoutMs: 180_000,
    replay: true,
    errors: [...project, "invalid_direction", "plan_stale"],
    summary: "Return the changes that would make the host match the intent, or the intent the host; changes nothing",
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
    summary: "Make the host match the intent (to_host), or return the host's definition as intent (from_host)",
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
    summary: "Return the live state of nodes and links; fast, for polling; status 200 even if the live state cannot be read",
  },
  inspectProject: {
    ...post,
    path: "/api/v1/projects/inspect",
    auth: "bearer",
    timeoutMs: 300_000,
    replay: true,
    errors: [...project, "node_not_found"],
    summary: "Return nodes, networks and links as they are on the host; refresh true does not use the cache",
  },
  openProject: {
    ...post,
    path: "/api/v1/projects/open",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: true,
    errors: [...project, "unsupported"],
    summary: "Return a link to a page that shows the lab",
  },
  listProjectConsoles: {
    ...post,
    path: "/api/v1/projects/consoles",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: true,
    errors: [...project, "node_not_found"],
    summary: "List the consoles of the lab's nodes",
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
    summary: "Run a command on the console of a node; answers when the prompt is back",
  },
  execConsoleMany: {
    ...post,
    path: "/api/v1/console/exec-many",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: false,
    errors: consoles,
    summary: "Run commands on the consoles of several nodes; each target has its own outcome",
  },
  attachConsole: {
    ...post,
    path: "/api/v1/console/attach",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "consoleStream",
    errors: [...consoles, "browser_token_invalid"],
    summary: "Return a one-time ticket for a console's byte stream",
  },
  readConsoleLog: {
    ...post,
    path: "/api/v1/console/log",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "consoleLog",
    errors: [...project, "node_not_found", "unsupported"],
    summary: "Return the console output of a node since its last start, also of a node that has stopped",
  },
  runConsole: {
    ...post,
    path: "/api/v1/console/run",
    auth: "bearer",
    timeoutMs: 180_000,
    replay: false,
    feature: "consoleRun",
    errors: [...consoles, "console_in_use", "console_timeout"],
    summary: "Run a dialogue on a console: steps of text to send and text to expect",
  },
  execNodes: {
    ...post,
    path: "/api/v1/nodes/exec",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    answer: "events",
    feature: "nodeExec",
    errors: [...project, "node_not_found", "unsupported"],
    summary: "Run a program in one, several or all running nodes; streams the output and the exit code of each node",
  },
  attachProcess: {
    ...post,
    path: "/api/v1/nodes/attach",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "nodeExec",
    errors: [...project, "node_not_found", "unsupported"],
    summary: "Return a one-time ticket for an interactive program in a node, such as a shell with a terminal of its own",
  },
  streamProcess: {
    ...get,
    path: "/api/v1/nodes/stream/{ticket}",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: false,
    answer: "upgrade",
    protocol: "host-process",
    feature: "nodeExec",
    errors: [
      ...host,
      "browser_token_invalid",
      "lab_not_found",
      "operation_not_allowed",
      "node_not_found",
      "node_not_running",
      "unsupported",
      "rate_limited",
    ],
    summary: "Run the program of a ticket after Upgrade: host-process: frames of input, output and control, see Consoles",
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
    summary: "Stream a console: raw bytes after Upgrade: host-telnet; frames after Upgrade: websocket",
  },
  applyLinkQuality: {
    ...change,
    path: "/api/v1/projects/links/quality",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "linkQuality",
    errors: linkChange,
    summary: "Set delay, jitter, loss and bandwidth of a running link; save true also stores them on the host",
  },
  setLinkSuspend: {
    ...change,
    path: "/api/v1/projects/links/suspend",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "linkSuspend",
    errors: linkChange,
    summary: "Suspend a link by removing its carrier, or resume it",
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
    summary: "List the captures of a lab",
  },
  getCapture: {
    ...get,
    path: "/api/v1/projects/captures/{id}",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "capture",
    errors: captures,
    summary: "Return a capture",
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
    summary: "Download the packets as pcapng, also while the capture runs",
  },
  listCapturePackets: {
    ...get,
    path: "/api/v1/projects/captures/{id}/packets",
    auth: "bearer",
    timeoutMs: 60_000,
    replay: true,
    feature: "capture",
    errors: captures,
    summary: "List decoded packets of a capture as rows, optionally after a packet number, from an offset, or matching a display filter",
  },
  getCapturePacket: {
    ...get,
    path: "/api/v1/projects/captures/{id}/packets/{number}",
    auth: "bearer",
    timeoutMs: 60_000,
    replay: true,
    feature: "capture",
    errors: captures,
    summary: "Return a packet of a capture with all fields and bytes",
  },
  stopCapture: {
    ...bare,
    path: "/api/v1/projects/captures/{id}/stop",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "capture",
    errors: captures,
    summary: "Stop a capture and keep its packets",
  },
  removeCapture: {
    ...bare,
    path: "/api/v1/projects/captures/{id}/remove",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "capture",
    errors: captures,
    summary: "Stop a capture and delete its packets",
  },
  attachCapture: {
    ...bare,
    path: "/api/v1/projects/captures/{id}/attach",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "capture",
    errors: [...captures, "rate_limited"],
    summary: "Return a one-time ticket for a stream of a capture's packets",
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
    summary: "Stream a capture as pcapng after Upgrade: host-capture: the existing packets, then each new packet until the capture ends",
  },
  getPublicProject: {
    ...post,
    path: "/api/v1/projects/public",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: project,
    summary: "Return the intent and its revision; without secrets, or as written for users who may edit the lab",
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
    summary: "Return a one-time ticket for a stream of packet summaries",
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
    summary:
      "Stream packet summaries with the lab's node and link names after Upgrade: host-traffic: one JSON object per line for each packet",
  },
  listLabs: {
    ...get,
    path: "/api/v1/labs",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: host,
    summary: "List the labs of the caller",
  },
  getLabGrants: {
    ...get,
    path: "/api/v1/labs/grants",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    errors: [...host, "lab_not_found"],
    summary: "List the users that a lab is shared with, and their rights",
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
    summary: "List labs whose definition on the host is missing or unreadable, and labs that run without one; for admins",
  },
  restoreQuarantined: {
    ...bare,
    path: "/api/v1/quarantine/{id}/restore",
    auth: "bearer",
    timeoutMs: 60_000,
    replay: false,
    errors: [...quarantine, "lab_not_found", "lab_exists"],
    summary: "Restore a lab of the quarantine with its last good definition; for admins",
  },
  deleteQuarantined: {
    ...bare,
    path: "/api/v1/quarantine/{id}/delete",
    auth: "bearer",
    timeoutMs: 60_000,
    replay: false,
    errors: [...quarantine, "lab_not_found"],
    summary: "End the nodes of a lab of the quarantine and delete their disks; for admins",
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
    summary: "Set whether the nodes that ran when the host went down start again with the service",
  },
  saveConfigs: {
    ...change,
    path: "/api/v1/projects/save",
    auth: "bearer",
    timeoutMs: 300_000,
    replay: false,
    feature: "saveConfigs",
    errors: [...project, "lab_busy", "lab_locked", "cancelled", "unsupported", "node_not_found"],
    summary: "Save the running configuration of nodes as their startup configuration, and return it",
  },
  testProject: {
    ...change,
    path: "/api/v1/projects/test",
    auth: "bearer",
    timeoutMs: 3_600_000,
    replay: false,
    feature: "nodeExec",
    errors: [...project, "invalid_intent", "lab_busy", "lab_locked", "cancelled", "unsupported"],
    summary: "Run the tests of the intent in the nodes of the running lab",
  },
  resumeLab: {
    ...change,
    path: "/api/v1/projects/resume",
    auth: "bearer",
    timeoutMs: 180_000,
    replay: false,
    feature: "resume",
    errors: changing,
    summary: "Start the nodes again that ended when the host went down, or with their lab",
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
      "Give nodes and networks of a stopped lab new numbers if other labs of the host user have the same ones; deletes the disks of these nodes",
  },
  listSnapshots: {
    ...post,
    path: "/api/v1/projects/snapshots",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: true,
    feature: "snapshots",
    errors: [...project, "unsupported"],
    summary: "List the snapshots of a lab",
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
      "Replace the definition of a stopped lab by that of a snapshot; deletes nodes that are not in the snapshot, and does not change the intent",
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
    summary: "List the pictures of a lab, and the nodes whose consoles their hotspots open",
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
    summary: "Download a picture of a lab: PNG, JPEG, GIF or WebP, detected from its bytes; anything else as application/octet-stream",
  },
  getTasks: {
    ...post,
    path: "/api/v1/projects/tasks",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: true,
    feature: "tasks",
    errors: [...project, "unsupported"],
    summary: "Return the tasks that the author of a lab wrote for its users, as text",
  },
  adoptLab: {
    ...post,
    path: "/api/v1/labs/adopt",
    auth: "bearer",
    timeoutMs: 60_000,
    replay: false,
    errors: [...host, ...bodied, "field_not_allowed", "lab_not_found", "operation_not_allowed", "lab_exists", "lab_busy"],
    summary: "Create a record with an owner for a lab that has none; its intent is the host's definition; for admins",
  },
  listDisks: {
    ...get,
    path: "/api/v1/disks",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: true,
    feature: "keptDisks",
    errors: [...host, "unsupported"],
    summary: "List kept disks of labs that were destroyed with wipe false: the caller's; for an admin, those of all users",
  },
  removeDisks: {
    ...bare,
    path: "/api/v1/disks/{id}/remove",
    auth: "bearer",
    timeoutMs: 30_000,
    replay: false,
    feature: "keptDisks",
    errors: [...host, "disks_not_found", "operation_not_allowed", "unsupported"],
    summary: "Delete kept disks; for their owner and admins",
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
    summary: "Stream node, link, lab, job and capture events as NDJSON, or as SSE if Accept asks for it; resumes after an id",
  },
  listJobs: {
    ...get,
    path: "/api/v1/jobs",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "jobs",
    errors: bearer,
    summary: "List the newest jobs that the caller may see, at most a hundred",
  },
  getJob: {
    ...get,
    path: "/api/v1/jobs/{id}",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    feature: "jobs",
    errors: [...bearer, "job_not_found"],
    summary: "Return a job: its progress and, after its end, its result",
  },
  cancelJob: {
    ...bare,
    path: "/api/v1/jobs/{id}/cancel",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: false,
    feature: "jobs",
    errors: [...bearer, "job_not_found", "operation_not_allowed"],
    summary: "Cancel a job after its current step",
  },
  getOpenApi: {
    ...get,
    path: "/api/v1/openapi.json",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    answer: "document",
    errors: bearer,
    summary: "Return this API as an OpenAPI 3.1 document",
  },
  getMetrics: {
    ...get,
    path: "/metrics",
    auth: "bearer",
    timeoutMs: 15_000,
    replay: true,
    answer: "bytes",
    errors: [...bearer, "operation_not_allowed"],
    summary: "Return counters, gauges and histograms for Prometheus; for admins and viewers",
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
