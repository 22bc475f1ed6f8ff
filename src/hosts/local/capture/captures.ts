import { randomBytes } from "node:crypto";
import { chown, mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { SerialQueue } from "../../../base/keyed-queue.ts";
import { Failure } from "../../../contract/errors.ts";
import type { CaptureRequest, HostCapture } from "../../host-captures.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { Trash } from "../files/trash.ts";
import { idRange } from "../machine/idmap.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type CaptureLimits, ringFiles } from "./capture-limits.ts";
import { endUnknownCapture, livingCaptures, signalCapture, startCaptureProcess } from "./capture-process.ts";
import {
  type CaptureEnd,
  type CaptureRecord,
  hasRecord,
  namesIn,
  readCounters,
  readEnd,
  readRecord,
  ringFilesIn,
  writeRecord,
} from "./capture-record.ts";

/** The lab that the captures belong to. */
export interface CapturedLab {
  readonly definition: LabDefinition;
  /** `<state>/labs/<id>`. */
  readonly directory: string;
  /** `null`: no process of the lab runs. */
  readonly sandbox: Sandbox | null;
}

export interface StartedCapture extends CaptureRequest {
  /** The filter as the tap runs it; absent: every packet. */
  readonly program?: string;
}

/** A capture process writes its buffered packets in less time than this, ms. */
const patienceMs = 15_000;

/**
 * The captures of the embedded host. The state of a capture is in its directory and in the lab's process table. So captures continue when the service
 * ends, and its next run finds them.
 */
export class Captures {
  /** The program. */
  readonly tap: string;
  readonly #limits: CaptureLimits;
  readonly #trash: Trash;
  /** Returns the directories of all labs, to add up the sizes of the host's captures. */
  readonly #labs: () => readonly string[];
  readonly #idMark: string;
  /** Starts run one after the other, so that two starts do not take the same last free place. */
  readonly #starts = new SerialQueue();
  /** Ids of captures that are being started. Their records have no process yet: without this set they would count as lost. */
  readonly #starting = new Set<string>();

  /** @param trash receives removed captures: their directories belong to the lab, which may change them at any time */
  /** @param idMark the start of each id, hexadecimal */
  constructor(tap: string, limits: CaptureLimits, trash: Trash, labs: () => readonly string[], idMark = "") {
    this.tap = tap;
    this.#limits = limits;
    this.#trash = trash;
    this.#labs = labs;
    this.#idMark = idMark;
  }

  /** Removes directories of captures whose start was interrupted before they had a record. Called only at the start of the service. */
  async sweep(): Promise<void> {
    for (const lab of this.#labs()) {
      for (const id of (await namesIn(join(lab, "captures"))).filter(isCaptureId)) {
        const directory = join(lab, "captures", id);
        if (!(await hasRecord(directory))) await this.#trash.discard(directory);
      }
    }
  }

  /** @param port the device in the fabric */
  start(lab: CapturedLab & { readonly sandbox: Sandbox }, request: StartedCapture, port: string): Promise<HostCapture> {
    return this.#starts.run(() => this.#start(lab, request, port));
  }

  async #start(lab: CapturedLab & { readonly sandbox: Sandbox }, request: StartedCapture, port: string): Promise<HostCapture> {
    await this.#refuseTooMany(await this.list(lab));
    const id = `${this.#idMark}${randomBytes(8).toString("hex").slice(this.#idMark.length)}`;
    const directory = this.directory(lab, id);
    const { ringBytes, maxSeconds } = this.#limits;
    await mkdir(join(lab.directory, "captures"), { recursive: true, mode: 0o711 });
    await mkdir(directory, { mode: 0o700 });
    const { program, ...wanted } = request;
    const record: CaptureRecord = { version: 1, id, ...wanted, port, startedAt: Date.now(), ringBytes };
    this.#starting.add(id);
    try {
      await writeRecord(directory, record);
      if (process.getuid?.() === 0) await chown(directory, idRange.base, idRange.base);
      const ring = [`files=${ringFiles}`, `file-bytes=${Math.floor(ringBytes / ringFiles)}`, `seconds=${maxSeconds}`];
      const options = [...tapArguments(port, request, lab.definition.path), ...ring];
      const pid = await startCaptureProcess(lab.sandbox, this.tap, { id, directory, arguments: options });
      await writeRecord(directory, { ...record, pid });
    } catch (error) {
      await this.#trash.discard(directory);
      throw error;
    } finally {
      this.#starting.delete(id);
    }
    return this.get(lab, id);
  }

  /** Oldest first. */
  async list(lab: CapturedLab): Promise<readonly HostCapture[]> {
    const ids = (await namesIn(join(lab.directory, "captures"))).filter((name) => isCaptureId(name) && !this.#starting.has(name));
    const records = await Promise.all(ids.map((id) => readRecord(this.directory(lab, id))));
    const found = await this.#state(
      lab,
      records.filter((record) => record !== undefined),
    );
    const now = Date.now();
    const expired = found.filter(({ expiresAt = now }) => expiresAt < now);
    await Promise.all(expired.map(({ id }) => this.#forget(lab, id)));
    return found.filter((one) => !expired.includes(one)).sort((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1));
  }

  async get(lab: CapturedLab, id: string): Promise<HostCapture> {
    const [found] = await this.#state(lab, [await this.record(lab, id)]);
    return found!;
  }

  /** Throws capture_not_found. */
  async record(lab: Pick<CapturedLab, "directory" | "definition">, id: string): Promise<CaptureRecord> {
    const record = isCaptureId(id) && !this.#starting.has(id) ? await readRecord(this.directory(lab, id)) : undefined;
    if (record === undefined) throw new Failure("capture_not_found", `lab ${lab.definition.path} has no capture ${id}`);
    return record;
  }

  async stop(lab: CapturedLab, id: string): Promise<HostCapture> {
    const before = await this.get(lab, id);
    const { pid } = await this.record(lab, id);
    if (before.status === "running" && pid !== undefined && lab.sandbox !== null) {
      await signalCapture(lab.sandbox, pid, "TERM");
      await this.#ended(lab.sandbox, id, this.directory(lab, id), pid);
    }
    return this.get(lab, id);
  }

  async #ended(sandbox: Sandbox, id: string, directory: string, pid: number): Promise<void> {
    const end = Date.now() + patienceMs;
    while ((await readEnd(directory)) === undefined && (await livingCaptures(sandbox, [{ id, pid }])).size > 0) {
      if (Date.now() > end) await signalCapture(sandbox, pid, "KILL");
      await delay(20);
    }
  }

  async remove(lab: CapturedLab, id: string): Promise<void> {
    await this.stop(lab, id);
    await this.#forget(lab, id);
  }

  directory(lab: Pick<CapturedLab, "directory">, id: string): string {
    return join(lab.directory, "captures", id);
  }

  async #forget(lab: CapturedLab, id: string): Promise<void> {
    await this.#trash.discard(this.directory(lab, id));
  }

  async #state(lab: CapturedLab, records: readonly CaptureRecord[]): Promise<readonly HostCapture[]> {
    const ends = await Promise.all(records.map(({ id }) => readEnd(this.directory(lab, id))));
    const open = records.flatMap(({ id, pid, ended }, i) =>
      ends[i] === undefined && ended === undefined && pid !== undefined ? [{ id, pid }] : [],
    );
    const living = lab.sandbox === null ? new Set<string>() : await livingCaptures(lab.sandbox, open);
    return Promise.all(records.map((record, i) => this.#one(lab, record, ends[i], living.has(record.id))));
  }

  async #one(lab: CapturedLab, record: CaptureRecord, seen: CaptureEnd | undefined, lives: boolean): Promise<HostCapture> {
    const directory = this.directory(lab, record.id);
    // It may have ended between the check of the file and the check of the process.
    const end = seen ?? (lives ? undefined : await readEnd(directory));
    const [counters, files] = await Promise.all([readCounters(directory), ringFilesIn(directory)]);
    const { version: _version, pid: _pid, port: _port, ended: _ended, ringBytes, stoppedAt: _stoppedAt, ...request } = record;
    const base = {
      ...request,
      ...counters,
      sizeBytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      maxBytes: ringBytes,
      truncated: (files[0]?.sequence ?? 1) > 1,
    };
    if (end === undefined && lives) return { ...base, status: "running" };
    if (end === undefined) return { ...base, ...(await this.#lost(lab, record)) };
    const ended = { ...base, stoppedAt: end.at, expiresAt: end.at + this.#limits.keptMs };
    if (end.how === "stopped") return { ...ended, status: "stopped" };
    if (end.how === "gone")
      return { ...ended, status: "stopped", reason: `${record.label} went away: its node was stopped, or lost the interface` };
    if (end.how === "seconds")
      return { ...ended, status: "stopped", reason: `it ran for ${this.#limits.maxSeconds} s, the maximum duration of a capture` };
    return { ...ended, status: "failed", reason: end.words };
  }

  /** Decides how a capture ended whose process left no reason. The decision is recorded, so that it does not change. */
  async #lost(lab: CapturedLab, record: CaptureRecord): Promise<Pick<HostCapture, "status" | "reason" | "stoppedAt" | "expiresAt">> {
    let { ended, stoppedAt } = record;
    if (ended === undefined || stoppedAt === undefined) {
      if (record.pid === undefined && lab.sandbox !== null) await endUnknownCapture(lab.sandbox, record.id);
      ended =
        lab.sandbox === null
          ? { failed: false, reason: "the lab was stopped" }
          : { failed: true, reason: "its process was killed, or the service died while it was being started" };
      stoppedAt = Date.now();
      // If the disk is full, the end is not recorded, and the next check decides again.
      await writeRecord(this.directory(lab, record.id), { ...record, ended, stoppedAt }).catch(ignoreFull);
    }
    return { status: ended.failed ? "failed" : "stopped", reason: ended.reason, stoppedAt, expiresAt: stoppedAt + this.#limits.keptMs };
  }

  async #refuseTooMany(here: readonly HostCapture[]): Promise<void> {
    const { runningPerLab, keptPerLab, ringBytes, hostBytes } = this.#limits;
    const refuse = (limit: string, most: number, message: string) => {
      throw new Failure("capture_limit", message, { data: { limit, most } });
    };
    if (here.filter(({ status }) => status === "running").length >= runningPerLab) {
      refuse("running_per_lab", runningPerLab, `${runningPerLab} captures of this lab run, the most that may: stop one first`);
    }
    if (here.length >= keptPerLab)
      refuse("kept_per_lab", keptPerLab, `this lab has ${keptPerLab} captures, the most that are kept: remove one first`);
    const used = (await Promise.all(this.#labs().map(usedBy))).reduce((sum, bytes) => sum + bytes, 0);
    if (used + ringBytes > hostBytes) {
      refuse("host_bytes", hostBytes, `the captures of this host take ${used} bytes of ${hostBytes}: remove some first`);
    }
  }
}

function ignoreFull(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOSPC" && error.code !== "EDQUOT") throw error;
}

/** Returns the size of the captures in a lab's directory, bytes. A running capture counts with the size of its full ring. */
async function usedBy(directory: string): Promise<number> {
  const captures = join(directory, "captures");
  const sizes = (await namesIn(captures)).filter(isCaptureId).map(async (id) => {
    const own = join(captures, id);
    const [record, end] = await Promise.all([readRecord(own), readEnd(own)]);
    if (record !== undefined && end === undefined && record.ended === undefined) return record.ringBytes;
    return (await ringFilesIn(own)).reduce((sum, { bytes }) => sum + bytes, 0);
  });
  return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
}

export function isCaptureId(id: string): boolean {
  return /^[0-9a-f]{16}$/.test(id);
}

/** Returns the arguments of the tap: which packets to capture, and the names in the file. */
export function tapArguments(
  port: string,
  { label, filter, program, snaplen }: Pick<StartedCapture, "label" | "filter" | "program" | "snaplen">,
  lab: string,
): readonly string[] {
  return [
    ...[`port=${port}`, `name=${label}`, `description=${label} of lab ${lab}`],
    ...(program === undefined ? [] : [`filter=${filter}`, `program=${program}`]),
    ...(snaplen === undefined ? [] : [`snaplen=${snaplen}`]),
  ];
}

/** Returns the directories of captures, so that a capture can be found by its id alone. */
export async function findCapture(labs: readonly string[], id: string): Promise<number> {
  if (!isCaptureId(id)) return -1;
  const found = await Promise.all(
    labs.map((directory) =>
      stat(join(directory, "captures", id, "capture.json")).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.indexOf(true);
}
