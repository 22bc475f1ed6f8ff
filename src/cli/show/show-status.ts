import { exitCodeText } from "../../base/names/exit-code.ts";
import { inNaturalOrder } from "../../base/natural-order.ts";
import { nodeKey, otherName } from "../../base/node-key.ts";
import { shellWord } from "../../base/shell-word.ts";
import { leaseText } from "../../base/time/lease-text.ts";
import type { ResultOf } from "../../client/index.ts";
import { changeName, changeProgress, unfinishedChange } from "./show-job.ts";
import { bytes, duration, table } from "./table.ts";
import type { Paint } from "./terminal.ts";

export type Status = ResultOf<"getProjectStatus">;
export type LiveNode = NonNullable<NonNullable<Status["live"]>["nodes"]>[number];

/** Parts of an inspection that a status shows. */
export interface InterfacesShown {
  /** Ends of links without carrier. */
  readonly suspended: readonly string[];
  /** Addresses of each node. */
  readonly addresses: ReadonlyMap<string, readonly string[]>;
}

export const noInterfaces: InterfacesShown = { suspended: [], addresses: new Map() };

/** Returns the status of a lab as text. */
export function showStatus(paint: Paint, status: Status, { suspended, addresses } = noInterfaces): string {
  const { lab, mode, exists, quarantined, moved_to: moved, locked, operation, live } = status;
  const head = [
    paint("bold", lab),
    `mode ${mode}`,
    ...(locked ? ["locked"] : []),
    ...(exists ? [] : [quarantined === true ? "in quarantine" : moved === undefined ? "not on the host" : `moved to ${moved}`]),
  ].join("  ");
  const lines = [head];
  if (quarantined === true)
    lines.push("its definition on the host was lost; its nodes may still run. An admin restores or deletes it: labwright quarantine");
  if (moved !== undefined)
    lines.push(
      `the lab was moved or renamed on the host. Move it back there; or make it managed at its new path with labwright adopt ${shellWord(moved)}, and remove the old ` +
        `entry with labwright destroy --lab ${shellWord(lab)}`,
    );
  if (operation !== undefined)
    lines.push(`${changeName(operation.name)} by ${operation.user} ${changeProgress(operation.steps, operation.step)}`);
  const broken = unfinishedChange(status);
  if (broken !== undefined) lines.push(broken);
  lines.push(...waitingText(lab, status.resume), ...leaseLines(status.lease));
  if (live !== undefined && !live.available) lines.push(unreadText(live));
  if (live?.nodes !== undefined && live.nodes.length > 0) lines.push("", nodeTable(paint, live.nodes, addresses));
  const netem = live?.netem ?? [];
  if (netem.length > 0) {
    lines.push("", table(["LINK", "FROM", "DELAY", "JITTER", "LOSS", "BANDWIDTH"], netem.flatMap(linkRows)));
  }
  if (live?.nodes?.some(({ clash }) => clash !== undefined)) {
    lines.push(
      "",
      "unknown: another lab runs, or may run, under the node's number on the host; labwright renumber changes the numbers of a stopped lab.\n" +
        "labwright stop works on managed labs; labwright adopt LAB makes another lab managed",
    );
  }
  lines.push(...unreadyText(live?.nodes ?? []), ...closedPortsText(live?.nodes ?? []));
  if (suspended.length > 0) lines.push("", `suspended: ${suspended.join(", ")} (labwright link NODE:INTERFACE --resume)`);
  return lines.join("\n");
}

/** Returns why running nodes are not ready, one line each. */
function unreadyText(nodes: readonly LiveNode[]): string[] {
  const lines = inNaturalOrder(nodes, nodeKey).flatMap((node) =>
    node.ready === false && node.not_ready !== undefined ? [`not ready yet: ${nodeKey(node)}: ${node.not_ready}`] : [],
  );
  return lines.length === 0 ? [] : ["", ...lines];
}

/** Returns why published ports of running nodes are closed, one line each. */
function closedPortsText(nodes: readonly LiveNode[]): string[] {
  const lines = inNaturalOrder(nodes, nodeKey).flatMap(({ closed_ports = [] }) => closed_ports.map((reason) => `closed: ${reason}`));
  return lines.length === 0 ? [] : ["", ...lines, "closed ports are opened as soon as that is possible"];
}

/** Returns why the state of the nodes is unknown. Older services give no reason. */
export function unreadText({ error }: NonNullable<Status["live"]>): string {
  const text = "the host does not report the state of the nodes";
  return error === undefined ? `${text}; try again` : `${text}: ${error.error} (${error.code})`;
}

/** Returns the nodes that wait for a resume, with the reason and the command. */
export function waitingText(lab: string, resume: Status["resume"]): string[] {
  const { waiting = [], reason, error } = resume ?? {};
  if (waiting.length === 0) return [];
  const nodes = waiting.length > 5 ? `${waiting.length} nodes` : waiting.join(", ");
  const why = reason === "lab_killed" ? "ended with the lab, which was killed" : "ended when the machine went down";
  return [
    `${lab}: ${nodes} ${why}; labwright resume --lab ${shellWord(lab)} starts ${waiting.length === 1 ? "it" : "them"} again`,
    ...(error === undefined ? [] : [`the last resume failed: ${error.error}`]),
  ];
}

/** Returns whether a node is running and ready. A node without a readiness check is ready. */
export function isUp(node: LiveNode): boolean {
  return node.status === "running" && node.ready !== false;
}

/** The column NAME has the host's name of nodes with another key. It is left out if there is none. */
function nodeTable(paint: Paint, all: readonly LiveNode[], addresses: InterfacesShown["addresses"]): string {
  const nodes = inNaturalOrder(all, nodeKey);
  const hasAddresses = nodes.some((node) => addressesText(addresses.get(nodeKey(node))) !== "");
  const isRenamed = nodes.some((node) => otherName(node) !== "");
  const isSpread = nodes.some(({ machine }) => machine !== undefined);
  const rows = nodes.map((node) => [
    nodeKey(node),
    ...(isRenamed ? [otherName(node)] : []),
    ...(isSpread ? [node.machine ?? ""] : []),
    statusText(node),
    node.ready === undefined ? "" : node.ready ? "yes" : "no",
    node.uptime_ms === undefined ? "" : duration(node.uptime_ms),
    node.cpu_percent === undefined ? "" : `${node.cpu_percent.toFixed(1)} %`,
    node.memory_bytes === undefined ? "" : bytes(node.memory_bytes),
    node.disk_bytes === undefined ? "" : bytes(node.disk_bytes),
    ...(hasAddresses ? [addressesText(addresses.get(nodeKey(node)))] : []),
    node.exit_code === undefined ? "" : exitCodeText(node.exit_code).replace("exit code ", ""),
  ]);
  const heads = [
    "NODE",
    ...(isRenamed ? ["NAME"] : []),
    ...(isSpread ? ["MACHINE"] : []),
    "STATUS",
    "READY",
    "UPTIME",
    "CPU",
    "MEMORY",
    "DISK",
    ...(hasAddresses ? ["ADDRESSES"] : []),
    "EXIT",
  ];
  const [heading = "", ...lines] = table(heads, rows).split("\n");
  return [heading, ...lines.map((line, index) => paintNode(paint, nodes[index], line))].join("\n");
}

/** The first addresses; `inspect` shows all of them. Link-local addresses are the same in every lab and left out. */
function addressesText(all: readonly string[] = []): string {
  const shown = all.filter((address) => !address.startsWith("fe80:"));
  return [...shown.slice(0, 2), ...(shown.length > 2 ? [`+${shown.length - 2}`] : [])].join(" ");
}

function statusText({ status, forced, disk_full, stuck, clash, other_user }: LiveNode): string {
  if (forced === true) return `${status} (forced)`;
  if (stuck === true) return `${status} (stuck: wipe it)`;
  if (disk_full === true) return `${status} (disk full)`;
  if (clash !== undefined) return `${status} (number ${clash.number}: ${clash.certain ? "" : "possibly "}${clash.lab ?? "no lab"})`;
  if (other_user !== undefined) return `${status} (${other_user.certain ? "runs" : "may run"} for ${other_user.user})`;
  return status;
}

function paintNode(paint: Paint, node: LiveNode | undefined, line: string): string {
  if (node === undefined) return line;
  if (isUp(node)) return paint("green", line);
  if (node.status === "failed") return paint("red", line);
  return node.status === "stopped" ? paint("dim", line) : paint("yellow", line);
}

type Netem = NonNullable<NonNullable<Status["live"]>["netem"]>[number];

function linkRows(row: Netem): string[][] {
  const name = row.endpoints.join(" -- ");
  return (["a", "b"] as const).flatMap((side, index) => {
    const quality = row[side];
    if (quality === undefined) return [];
    const { delay = 0, jitter = 0, loss = 0, bandwidth = 0 } = quality;
    const cells = [delay && `${delay} ms`, jitter && `${jitter} ms`, loss && `${loss} %`, bandwidth && `${bandwidth} kbit/s`];
    return [[name, row.endpoints[index] ?? side, ...cells.map((cell) => (cell === 0 ? "" : String(cell)))]];
  });
}

type Source = NonNullable<Status["source"]>;

/** Returns the import report of a lab as text: what was dropped or mapped, then what was kept. */
export function showSource(lab: string, source: Source | undefined): string {
  if (source === undefined) return `${lab} has no import report: it was not imported, or by an earlier version`;
  const { format, lab: from, imported_at: time, counts, report = [], report_left_out: leftOut = 0 } = source;
  const levels = ["dropped", "mapped", "kept"] as const;
  return [
    `${lab} was imported${from === undefined ? "" : ` from ${from}`} (${format})${time === undefined ? "" : ` at ${time}`}`,
    `${counts.kept} kept, ${counts.mapped} mapped, ${counts.dropped} dropped`,
    ...levels.flatMap((level) =>
      report
        .filter((line) => line.level === level)
        .map(({ file, line, path, message }) => {
          const place = file === undefined ? "" : `${file}${line === undefined ? "" : `:${line}`}: `;
          return `  ${place}${level} ${path || "/"}: ${message}`;
        }),
    ),
    ...(leftOut > 0 ? [`${leftOut} more lines are not stored: labwright import-file --report shows them`] : []),
  ].join("\n");
}

/** Returns the lines of a status about the lease. */
function leaseLines(lease: Status["lease"]): string[] {
  if (lease === undefined) return [];
  const { failed, ended_at: ended } = lease;
  const text =
    ended === undefined ? leaseText(lease, Date.now()) : `has ended, and its nodes were stopped at ${ended}; a start begins it again`;
  return [`lease: ${text}`, ...(failed === undefined ? [] : [`the lease could not be ended, and will be tried again: ${failed.error}`])];
}
