import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import { type RunResult, succeeded } from "../machine/machine.ts";
import { type Sandbox, switchingNode } from "../sandbox/sandbox.ts";

/** The configuration and state in Open vSwitch's database, by the names of bridges. */
export type ActualSwitches = ReadonlyMap<string, ActualSwitch>;

export interface ActualSwitch {
  readonly digest: string | undefined;
  /** Columns of the bridge. */
  readonly status: OvsMap;
  readonly rstpStatus: OvsMap;
  readonly usesStp: boolean;
  readonly usesRstp: boolean;
  readonly ports: readonly ActualPort[];
}

export interface ActualPort {
  readonly name: string;
  readonly tag: number | undefined;
  readonly trunks: readonly number[];
  readonly vlanMode: string | undefined;
  readonly lacp: string | undefined;
  readonly status: OvsMap;
  readonly rstpStatus: OvsMap;
  readonly interfaces: readonly ActualInterface[];
}

export interface ActualInterface {
  readonly name: string;
  readonly error: string | undefined;
  /** -1: Open vSwitch could not open it. */
  readonly port: number | undefined;
  readonly isUp: boolean;
  readonly lacpCurrent: boolean | undefined;
}

export type OvsMap = Readonly<Record<string, string>>;

/** Maximum bytes of an answer of Open vSwitch. The node's root could make it endless. */
const maxOutputBytes = 8 << 20;
/** The tools of Open vSwitch that have a limit of their own end before. */
const timeoutMs = 30_000;
const readMs = 10_000;
/** Exit code of a tool of Open vSwitch that has reached its own limit: it is ended by the signal ALRM. */
const alarm = 128 + 14;

/** Maximum number of attempts of a program that does not reach a daemon: a daemon that was killed is started again in a fraction of a second. */
const maxAttempts = 50;
const pauseMs = 100;

/** The messages of tools that do not reach a daemon. */
const noDaemon = /failed to connect|cannot connect|Connection refused|connection attempt failed|Broken pipe|cannot read pidfile/;

/** Runs a program beside Open vSwitch. Throws host_error if it fails, and host_timeout if the daemons do not answer. */
export async function runBeside(sandbox: Sandbox, argv: readonly string[], limitMs = timeoutMs): Promise<RunResult> {
  for (let attempt = 1; ; attempt++) {
    const result = await sandbox.exec(switchingNode, argv, { timeoutMs: limitMs, maxOutputBytes }).catch((error: unknown) => {
      throw error instanceof Failure && error.code === "host_timeout" ? noAnswer(error) : error;
    });
    if (result.code === alarm) throw noAnswer();
    if (result.code === 0 || attempt === maxAttempts || !noDaemon.test(result.stderr)) return succeeded(argv, result);
    await delay(pauseMs);
  }
}

function noAnswer(cause?: Failure): Failure {
  const message =
    "the daemons of the lab's VLAN-aware switches do not answer: stop all VLAN-aware switches of the lab and start them again";
  return new Failure("host_timeout", message, { data: { host: { message } }, cause });
}

const tables = {
  Bridge: ["name", "ports", "external_ids", "status", "rstp_status", "stp_enable", "rstp_enable"],
  Port: ["_uuid", "name", "tag", "trunks", "vlan_mode", "lacp", "status", "rstp_status", "interfaces"],
  Interface: ["_uuid", "name", "error", "ofport", "link_state", "lacp_current"],
} as const;

type Row = Readonly<Record<string, unknown>>;

/** Reads all bridges with their ports. */
export async function readSwitches(sandbox: Sandbox): Promise<ActualSwitches> {
  const selects = Object.entries(tables).map(([table, columns]) => ({ op: "select", table, where: [], columns }));
  const request = JSON.stringify(["Open_vSwitch", ...selects]);
  const { stdout } = await runBeside(sandbox, ["ovsdb-client", "transact", "unix:/run/openvswitch/db.sock", request], readMs);
  return parseSwitches(stdout);
}

/**
 * Parses the answer to `readSwitches`. The local port of each bridge is left out. Throws host_error for any other text: users of the lab may run programs
 * beside Open vSwitch as root, also in place of its tools.
 */
export function parseSwitches(text: string): ActualSwitches {
  try {
    return switchesOf(text);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const message = "Open vSwitch's database gave an unusable answer: stop and start the lab's VLAN-aware switches";
    throw new Failure("host_error", message, { data: { host: { message } }, cause: error });
  }
}

function switchesOf(text: string): ActualSwitches {
  const answer = JSON.parse(text) as readonly { readonly rows?: readonly Row[]; readonly error?: string }[];
  const failed = answer.find(({ error }) => error !== undefined);
  if (failed !== undefined) throw new Failure("host_error", `Open vSwitch's database: ${String(failed.error).slice(0, 200)}`);
  const [bridges = [], ports = [], interfaces = []] = answer.map(({ rows }) => rows);
  const interfaceOf = byUuid(interfaces);
  const portOf = byUuid(ports);
  return new Map(
    bridges.map((row) => {
      const name = String(row["name"]);
      const found = rowsOf(row["ports"], portOf);
      const own = found.filter((port) => port["name"] !== name).map((port) => actualPort(port, interfaceOf));
      return [
        name,
        {
          digest: mapOf(row["external_ids"])["labwright"],
          status: mapOf(row["status"]),
          rstpStatus: mapOf(row["rstp_status"]),
          usesStp: row["stp_enable"] === true,
          usesRstp: row["rstp_enable"] === true,
          ports: own.sort((a, b) => (a.name < b.name ? -1 : 1)),
        },
      ];
    }),
  );
}

function actualPort(row: Row, interfaceOf: ReadonlyMap<string, Row>): ActualPort {
  const interfaces = rowsOf(row["interfaces"], interfaceOf);
  return {
    name: String(row["name"]),
    tag: numberOf(row["tag"]),
    trunks: setOf(row["trunks"]).flatMap((one) => numberOf(one) ?? []),
    vlanMode: wordOf(row["vlan_mode"]),
    lacp: wordOf(row["lacp"]),
    status: mapOf(row["status"]),
    rstpStatus: mapOf(row["rstp_status"]),
    interfaces: interfaces
      .map((one) => ({
        name: String(one["name"]),
        error: wordOf(one["error"]),
        port: numberOf(one["ofport"]),
        isUp: optional(one["link_state"]) === "up",
        lacpCurrent: typeof optional(one["lacp_current"]) === "boolean" ? optional(one["lacp_current"]) === true : undefined,
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function byUuid(rows: readonly Row[]): ReadonlyMap<string, Row> {
  return new Map(rows.map((row) => [(row["_uuid"] as readonly string[])[1] ?? "", row]));
}

/** The notation of OVSDB (RFC 7047): a set is ["set", […]], or its only element; a map is ["map", [[key, value]…]]. */
function setOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) && value[0] === "set" ? (value[1] as readonly unknown[]) : [value];
}

function optional(value: unknown): unknown {
  return setOf(value)[0];
}

function numberOf(value: unknown): number | undefined {
  const one = optional(value);
  return Number.isInteger(one) && Math.abs(Number(one)) < 65_536 ? Number(one) : undefined;
}

function wordOf(value: unknown): string | undefined {
  const one = optional(value);
  return typeof one === "string" ? one : undefined;
}

/** Returns the rows to which a set of references leads. */
function rowsOf(value: unknown, rows: ReadonlyMap<string, Row>): readonly Row[] {
  return setOf(value)
    .map((item) => rows.get((item as readonly string[])[1] ?? ""))
    .filter((row) => row !== undefined);
}

function mapOf(value: unknown): OvsMap {
  const pairs = Array.isArray(value) && value[0] === "map" ? (value[1] as readonly (readonly [string, unknown])[]) : [];
  return Object.fromEntries(pairs.map(([key, item]) => [key, String(item)]));
}
