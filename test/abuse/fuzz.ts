import { setTimeout as wait } from "node:timers/promises";
import { type Case, makeCase } from "./cases.ts";
import { converse } from "./converse.ts";
import { Known } from "./known.ts";
import { labPaths } from "./labs.ts";
import { Pipe } from "./pipe.ts";
import { Random } from "./random.ts";
import type { ServiceProcess } from "./service-process.ts";
import { judge } from "./verdict.ts";

export interface FuzzOptions {
  readonly seed: number;
  readonly requests: number;
  /** Ends the run early; what was sent until then counts. */
  readonly limitMs: number;
  /** Not before so many are answered. */
  readonly least?: number;
  /** The first case; for one case again: its index, and one request. */
  readonly from?: number;
}

export interface FuzzReport {
  readonly sent: number;
  readonly ms: number;
  /** Answers by status and code. */
  readonly tally: Readonly<Record<string, number>>;
  /** How often each operation did what it was asked for. */
  readonly done: Readonly<Record<string, number>>;
  /** One line each: seed, index, request, what is wrong. */
  readonly failures: readonly string[];
  /** Resident memory over time, bytes. */
  readonly rss: readonly number[];
  /** Tokens, and passwords: none of them may stand in the log. */
  readonly secrets: readonly string[];
}

/** Of connections that share the requests; patient and alone cases have their own. */
const pipes = 6;
const depth = 16;
const patientPipes = 8;
const aloneAtOnce = 6;
const mostFailures = 20;

/** Sends cases to a running service and judges every answer. */
export async function fuzz(service: ServiceProcess, options: FuzzOptions): Promise<FuzzReport> {
  const { seed, requests, limitMs, least = 0, from = 0 } = options;
  const known = new Known(service.password);
  const secrets = [service.password];
  for (let session = 0; session < 4; session++) known.tokens.push(await login(service));
  secrets.push(...known.tokens);

  const tally: Record<string, number> = {};
  const done: Record<string, number> = {};
  const failures: string[] = [];
  const rss: number[] = [];
  const patient: Case[] = [];
  const alone: Case[] = [];
  const started = performance.now();
  let next = from;
  let sent = 0;
  const inTime = () => performance.now() - started < limitMs || sent < least;
  const more = () => next < from + requests && inTime() && failures.length < mostFailures && service.alive;
  const sampler = setInterval(() => service.alive && rss.push(service.rss()), 100);

  const fail = (one: Case, why: string) => {
    failures.push(`seed ${seed} index ${one.index} ${why} <- ${shown(one, known.tokens)}`);
  };
  const count = (outcome: string) => {
    tally[outcome] = (tally[outcome] ?? 0) + 1;
  };
  const answered = (one: Case, reply: Parameters<typeof judge>[1]) => {
    const verdict = judge(one, reply, secrets);
    count(verdict.outcome);
    if (one.operation !== undefined && reply.status < 300) done[one.operation] = (done[one.operation] ?? 0) + 1;
    if (verdict.failure !== undefined) fail(one, `${verdict.outcome} ${verdict.failure}`);
    if (verdict.data !== undefined) {
      if (typeof verdict.data.token === "string") secrets.push(verdict.data.token);
      known.learn(verdict.data);
    }
  };

  /** Cases for a pipe; those of the other lanes are put where they belong. */
  const batch = (size: number): Case[] => {
    const cases: Case[] = [];
    while (cases.length < size && more()) {
      const one = makeCase(seed, next++, known);
      if (one.lane === "piped") cases.push(one);
      else (one.lane === "patient" ? patient : alone).push(one);
      if (patient.length + alone.length > 400) break;
    }
    return cases;
  };

  const piped = async (worker: number) => {
    const random = new Random(seed, -1 - worker);
    let pipe: Pipe | undefined;
    while (more()) {
      if (patient.length + alone.length > 400) {
        await wait(5);
        continue;
      }
      let cases = batch(1 + random.int(depth));
      while (cases.length > 0 && service.alive) {
        pipe = pipe?.open ? pipe : await Pipe.open(service.port, `127.0.0.${2 + worker}`);
        const { replies, why } = await pipe.exchange(cases, 20_000);
        for (const [at, reply] of replies.entries()) answered(cases[at] as Case, reply);
        sent += replies.length;
        const last = replies.at(-1);
        if (why !== undefined && last?.closes !== true) {
          fail(cases[replies.length] as Case, why);
          cases = cases.slice(replies.length + 1);
        } else cases = cases.slice(replies.length);
      }
    }
    pipe?.close();
  };

  const ended = () => !more() && patient.length === 0 && alone.length === 0;
  const patiently = async () => {
    let pipe: Pipe | undefined;
    while (!ended()) {
      const one = patient.shift();
      if (one === undefined) {
        await wait(5);
        continue;
      }
      if (!service.alive) continue;
      pipe = pipe?.open ? pipe : await Pipe.open(service.port);
      // A client that does not wait for its answer is served as well as one that does.
      const { replies } = await pipe.exchange([one], 400);
      sent++;
      if (replies[0] === undefined) count("client left");
      else answered(one, replies[0]);
    }
    pipe?.close();
  };

  const lonely = async () => {
    while (!ended()) {
      const one = alone.shift();
      if (one === undefined) {
        await wait(5);
        continue;
      }
      if (!service.alive) continue;
      const { replies, rest, closed, broken } = await converse(service.port, one.bytes, {
        method: one.method,
        plain: one.plain,
        halfClose: one.halfClose,
        pieces: one.pieces,
        waitMs: 400,
        ...(one.operation !== undefined && { quietMs: 0 }),
      });
      sent++;
      if (broken !== undefined) fail(one, broken);
      const begun = /^HTTP\/1\.1 (\d+) /.exec(rest.toString("latin1", 0, 20))?.[1];
      if (replies.length === 0) count(begun !== undefined ? `${begun} that goes on` : closed ? "closed" : "client left");
      if (begun === "200" && one.operation !== undefined) done[one.operation] = (done[one.operation] ?? 0) + 1;
      for (const reply of replies) answered(one, reply);
    }
  };

  try {
    await Promise.all([
      ...Array.from({ length: pipes }, (_, worker) => piped(worker)),
      ...Array.from({ length: patientPipes }, patiently),
      ...Array.from({ length: aloneAtOnce }, lonely),
      tidy(service, known.tokens[0] as string, ended),
    ]);
  } catch (error) {
    // The service went away in the middle of it: that is the failure, and the cases in flight are its suspects.
    failures.push(`seed ${seed} about index ${next} ${String(error)}`);
  } finally {
    clearInterval(sampler);
  }
  if (!service.alive) failures.push(`seed ${seed} about index ${next} the service ended`);
  return { sent, ms: performance.now() - started, tally, done, failures, rss, secrets };
}

export async function login(service: ServiceProcess): Promise<string> {
  const { json } = await call(service, "POST", "/api/v1/login", undefined, { username: "admin", password: service.password });
  const token = (json.data as { readonly token?: string } | undefined)?.token;
  if (token === undefined) throw new Error(`no login: ${JSON.stringify(json)}`);
  return token;
}

/** One plain request on a connection of its own. */
export async function call(
  service: ServiceProcess,
  method: string,
  path: string,
  token?: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly json: Record<string, unknown> }> {
  const text = body === undefined ? "" : JSON.stringify(body);
  const head = [
    `${method} ${path} HTTP/1.1`,
    "Host: localhost",
    "Connection: close",
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...(body === undefined ? [] : ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(text)}`]),
  ];
  const { replies } = await converse(service.port, Buffer.from(`${head.join("\r\n")}\r\n\r\n${text}`), { method, waitMs: 20_000 });
  const [reply] = replies;
  if (reply === undefined) throw new Error(`${method} ${path} has no answer`);
  return { status: reply.status, json: JSON.parse(reply.body.toString()) as Record<string, unknown> };
}

/** Labs that mutated names made are destroyed now and then: memory that they hold is not a leak. */
async function tidy(service: ServiceProcess, token: string, ended: () => boolean): Promise<void> {
  while (!ended()) {
    await wait(500);
    if (service.alive) await destroyLabs(service, token, (lab) => !labPaths.includes(lab));
  }
}

export async function destroyLabs(service: ServiceProcess, token: string, which: (lab: string) => boolean): Promise<void> {
  const { json } = await call(service, "GET", "/api/v1/labs", token);
  const labs = (json.data as { readonly labs: readonly { readonly lab: string }[] }).labs.map(({ lab }) => lab).filter(which);
  for (const lab of labs) {
    await call(service, "PUT", "/api/v1/labs/lock", token, { lab, locked: false });
    await call(service, "POST", "/api/v1/projects/destroy", token, { lab });
  }
}

const shownLength = 3000;

/** The request in one line, without tokens. */
function shown(one: Case, tokens: readonly string[]): string {
  const text = tokens.reduce((line, token) => line.replaceAll(token, "TOKEN"), JSON.stringify(one.bytes.toString("latin1")));
  return text.length <= shownLength ? text : `${text.slice(0, shownLength)}… (${one.bytes.length} bytes)`;
}
