import type { LiveNode } from "../../host.ts";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import type { NodeLife } from "../nodes/node-life.ts";
import type { Candidate } from "../readiness/readiness.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { supervisor } from "../templates/vm-template.ts";
import type { LocalState } from "./local-state.ts";

/** The fields of a node's row that follow from definition and catalogue. */
interface FixedRow {
  readonly node: number;
  readonly id: string;
  readonly name: string;
  /** Command line of the template's ready check. */
  readonly ready: readonly string[] | undefined;
  readonly daemons: Candidate["daemons"];
  /** It has a disk of its own. */
  readonly disk: boolean;
  readonly runs: boolean;
}

/** Caches the fixed fields, because rows are read several times a second. */
const fixedRows = new WeakMap<LabDefinition, { readonly catalogue: Catalogue; readonly rows: readonly FixedRow[] }>();

/** Returns the current state of each node, in the definition's order. */
export async function liveNodes(state: LocalState, definition: LabDefinition, catalogue: Catalogue): Promise<readonly LiveNode[]> {
  const live = state.lab(definition.id);
  const life = await live.life(definition, catalogue);
  const rows = fixedRowsOf(definition, catalogue);
  const candidates = rows.flatMap(({ node, ready: argv, daemons }): Candidate[] => {
    const one = argv === undefined ? undefined : life.get(node);
    return argv === undefined || one?.power !== "running" || one.startedAt === undefined
      ? []
      : [{ node, startedAt: one.startedAt, argv, ...(daemons !== undefined && { daemons }) }];
  });
  const sandbox = live.sandbox;
  const ready =
    sandbox === null || candidates.length === 0
      ? new Map<number, boolean>()
      : await state.readiness(definition.id).ask(sandbox, candidates, live.wiringChanges, 1000);
  const [now, load, diskOf] = [Date.now(), await live.load(), state.disks.states(definition.id)];
  const reasons = state.readiness(definition.id);
  const closedPorts = live.closedPorts();
  return rows.map((row) => {
    const isReady = ready.get(row.node);
    const reason = isReady === false ? reasons.reason(row.node) : undefined;
    return liveNode(row, life.get(row.node), {
      now,
      load: load.get(row.node),
      ready: isReady,
      reason,
      diskOf,
      closedPorts: closedPorts.get(row.node),
    });
  });
}

interface Measured {
  /** Milliseconds of Unix time. */
  readonly now: number;
  readonly load: { readonly cpuPercent?: number; readonly memoryBytes?: number } | undefined;
  readonly ready: boolean | undefined;
  readonly reason: string | undefined;
  readonly closedPorts: readonly string[] | undefined;
  readonly diskOf: (node: number) => { readonly bytes: number; readonly over: boolean } | undefined;
}

/** Sets field by field for speed: thousands of rows are made per second. */
function liveNode(row: FixedRow, life: NodeLife | undefined, { now, load, ready, reason, diskOf, closedPorts }: Measured): LiveNode {
  const status = life?.power ?? "stopped";
  const up = status === "running" || status === "starting" || status === "stopping";
  const held = up || status === "suspended";
  const disk = row.disk && held ? diskOf(row.node) : undefined;
  // The load is read at intervals, and may be older than the end of the node.
  const taken = held ? load : undefined;
  const live: { -readonly [Field in keyof LiveNode]: LiveNode[Field] } = { id: row.id, name: row.name, status };
  if (row.ready !== undefined) live.ready = ready ?? false;
  if (reason !== undefined && reason !== "") live.not_ready = reason;
  if (life?.exitCode !== undefined) live.exit_code = life.exitCode;
  if (life?.lost !== undefined) live.lost = life.lost;
  if (life?.forced !== undefined) live.forced = life.forced;
  if (disk !== undefined) live.disk_bytes = disk.bytes;
  // Only the definition distinguishes a hibernated node from one that was frozen because its disk is full.
  if (disk?.over === true && status === "suspended" && row.runs) live.disk_full = true;
  if (up && closedPorts !== undefined) live.closed_ports = closedPorts;
  if (taken?.cpuPercent !== undefined) live.cpu_percent = taken.cpuPercent;
  if (taken?.memoryBytes !== undefined) live.memory_bytes = taken.memoryBytes;
  if (up && life?.startedAt !== undefined) live.uptime_ms = Math.max(0, now - life.startedAt);
  return live;
}

/** The supervisor of a node with a kernel of its own reports the end of its boot, and then runs the template's program in it. */
function readyProgram({ kernel }: DefinedNode, template: LocalTemplate | undefined): readonly string[] | undefined {
  const argv = template?.ready?.argv;
  return kernel === "own" ? [supervisor, "ready", ...(argv ?? [])] : argv;
}

function daemonsOf(template: LocalTemplate | undefined): Candidate["daemons"] {
  const { daemons, restart } = template?.ready ?? {};
  return daemons === undefined ? undefined : { names: new Set(daemons), restart };
}

function fixedRowsOf(definition: LabDefinition, catalogue: Catalogue): readonly FixedRow[] {
  const known = fixedRows.get(definition);
  if (known?.catalogue === catalogue) return known.rows;
  const rows = definition.nodes.map((node): FixedRow => {
    const { id, name, template, power } = node;
    const found = catalogue.template(template);
    const [ready, daemons] = [readyProgram(node, found), daemonsOf(found)];
    return { node: id, id: String(id), name, ready, daemons, disk: catalogue.limits(node) !== undefined, runs: power === "running" };
  });
  fixedRows.set(definition, { catalogue, rows });
  return rows;
}
