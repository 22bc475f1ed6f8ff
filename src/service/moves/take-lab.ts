import { createHash } from "node:crypto";
import { PassThrough, Readable } from "node:stream";
import { Failure } from "../../contract/errors.ts";
import type { MovableLab, ReceivedBytes } from "../../hosts/host-fleet.ts";
import type { MachineAnswer } from "../common/fleet-calls.ts";
import type { Context } from "../context/context.ts";
import type { Moving, SentLab } from "../jobs/moving.ts";
import { arriving, roomReserved, takenByArrival } from "../reservations/admit.ts";
import type { MovedLab, TakeNews } from "./move-lab.ts";
import { startArrived } from "./settle-moves.ts";

export interface OfferedLab {
  readonly lab: MovableLab;
  readonly job: string;
  /** Keys of the nodes that run again here. */
  readonly start: readonly string[];
  /** The user who moves the lab. */
  readonly by: string;
}

/** Takes a lab that another machine offers. Answers at once; the stream has a line for each step and for the end. */
export function takeLab(context: Context, from: number, offered: OfferedLab, signal: AbortSignal): MachineAnswer {
  const body = new PassThrough();
  const say = (news: TakeNews) => void (body.writable && body.write(`${JSON.stringify(news)}\n`));
  take(context, from, offered, signal, (progress) => say({ progress }))
    .then(
      (taken) => say({ taken }),
      (error: unknown) => {
        const { code, message } = error instanceof Failure ? error : { code: "internal", message: String(error) };
        context.log("warn", "a lab of another machine was not taken", { lab: offered.lab.lab, job: offered.job, error: message });
        say({ failure: { code, message } });
      },
    )
    .finally(() => body.end());
  return { facts: null, body };
}

async function take(
  context: Context,
  from: number,
  { lab: moved, job, start, by }: OfferedLab,
  signal: AbortSignal,
  say: (text: string) => void,
): Promise<MovedLab> {
  const { host, store, fleet, jobs, moving, log } = context;
  const machines = store.shared?.machines;
  const { moves } = host;
  const own = machines?.list().find(({ number }) => number === machines.own);
  if (moves === undefined || fleet === undefined || machines === undefined || own === undefined)
    throw new Failure("unsupported", "this machine takes no labs of other machines");
  if (own.state !== "active") throw new Failure("host_error", `${own.name} is cordoned`, { data: { host: { message: "cordoned" } } });
  const { lab } = moved;
  refuseReserved(context, lab);
  // Nobody deploys a lab at this path here between the end of the move and the moment when the lab is known here.
  const release = jobs.hold(lab, "moveLab", by);
  moving.arriving.add(job);
  let mayBeOurs = false;
  try {
    await fetchImages(context, moved, signal, say);
    const notes = await moves.check(moved);
    const { body } = await fleet.call(from, { name: "readLab", args: { lab, job } }, signal);
    const received = await moves.receive({ job, lab, id: moved.id, start }, counted(body, moved.bytes, say));
    const { facts, body: rest } = await fleet.call(from, { name: "labDigest", args: { job } }, signal);
    rest.destroy();
    refuseOther(received, facts as ReceivedBytes);
    await moves.complete(job);
    signal.throwIfAborted();
    const result: MovedLab = { lab, machine: own.name, bytes: received.bytes, notes };
    mayBeOurs = true;
    if (!(await machines.takeHanded(lab, { from, job, result }))) {
      mayBeOurs = false;
      throw new Failure("cancelled", `the move of ${lab} has ended: nothing was changed`);
    }
    await moves.adopt(job);
    log("info", "a lab of another machine is here now", { lab, from, bytes: received.bytes });
    context.observations.forget(lab);
    return result;
  } finally {
    if (!mayBeOurs)
      await moves
        .drop(job)
        .catch((error: unknown) => log("error", "the files of a move could not be removed", { lab, job, error: String(error) }));
    moving.arriving.delete(job);
    release();
    if (mayBeOurs) void startArrived(context, moves, { job, lab, start });
  }
}

/** Throws room_reserved. The other machine has checked that, too, but only this one knows which labs it has taken a moment ago. */
function refuseReserved(context: Context, lab: string): void {
  const record = context.store.labs.get(lab);
  const taken = record && takenByArrival(context, arriving(record, context.clock.now()));
  if (taken !== undefined) throw roomReserved(taken);
}

async function fetchImages(
  { sessions, store }: Context,
  { lab, nodes }: MovableLab,
  signal: AbortSignal,
  say: (text: string) => void,
): Promise<void> {
  const owner = store.labs.get(lab)?.owner;
  if (owner === undefined) throw new Failure("lab_not_found", `there is no record of ${lab}`);
  const wanted = nodes.flatMap(({ template, image }) => (image === undefined ? [] : [{ template, image, pull: "missing" } as const]));
  if (wanted.length === 0) return;
  const session = await sessions.resume(owner);
  try {
    await session.fetchImages?.(wanted, { signal, say });
  } finally {
    await session.close();
  }
}

async function* counted(body: Readable, all: number, say: (text: string) => void): AsyncGenerator<Buffer> {
  let bytes = 0;
  let said = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (performance.now() - said > 250) {
      said = performance.now();
      say(`${(bytes / 1e6).toFixed(1)} MB of about ${(all / 1e6).toFixed(1)} MB`);
    }
    yield part;
  }
}

function refuseOther(received: ReceivedBytes, sent: ReceivedBytes): void {
  if (received.bytes === sent.bytes && received.sha256 === sent.sha256) return;
  const text = `the bytes that arrived are not those that were sent: ${received.bytes} bytes instead of ${sent.bytes}`;
  throw new Failure("host_error", text, { data: { host: { message: text } } });
}

/** Streams the files of a lab that this machine gives away. Throws operation_not_allowed if no job of it runs. */
export async function sendLab(
  { host, moving }: Context,
  { lab, job }: { readonly lab: string; readonly job: string },
): Promise<MachineAnswer> {
  const sent = sentLab(moving, job);
  if (sent.lab !== lab) throw noMove(job);
  const bytes = await host.moves!.read(lab);
  return { facts: null, body: Readable.from(digested(bytes, sent), { objectMode: false }) };
}

async function* digested(bytes: Readable, sent: SentLab): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  let count = 0;
  delete sent.digest;
  for await (const part of bytes as AsyncIterable<Buffer>) {
    hash.update(part);
    count += part.length;
    yield part;
  }
  sent.digest = { bytes: count, sha256: hash.digest("hex") };
}

/** Returns what the last stream of the job's lab contained. */
export function labDigest({ moving }: Context, job: string): ReceivedBytes {
  const { digest } = sentLab(moving, job);
  if (digest === undefined) throw new Failure("operation_not_allowed", "the lab was not sent to its end");
  return digest;
}

function sentLab({ sent }: Moving, job: string): SentLab {
  const found = sent.get(job);
  if (found === undefined) throw noMove(job);
  return found;
}

function noMove(job: string): Failure {
  return new Failure("operation_not_allowed", `no job ${job} moves a lab here`);
}
