import Type, { type TSchema } from "typebox";
import { Errors } from "typebox/value";
import { Failure } from "../../contract/errors.ts";
import { files, flag, integer, map, number, optionalText, text } from "../../contract/schemas/shapes.ts";
import { tokenScopes } from "../../contract/token-scopes.ts";
import type { AccountRow } from "../../hosts/host-accounts.ts";
import { leaseEnds } from "../../intent/lab/lab.ts";
import type { MachineDrain, MachineFacts, MachineRow } from "./machines.ts";
import type { ApiToken, JobAnswer, LabRecord, QuotaRow, ReservationRow } from "./store.ts";

/** Fields that older releases did not write are optional. */
const recordSchema = Type.Object({
  path: text,
  identity: optionalText,
  mode: optionalText,
  owner: text,
  grants: Type.Optional(map(text)),
  yaml: optionalText,
  files: Type.Optional(files),
  applied: Type.Optional(Type.Object({ path: text, nodes: Type.Array(Type.Object({})), links: Type.Array(Type.Object({})) })),
  serial: Type.Optional(integer),
  labId: optionalText,
  ids: Type.Optional(Type.Object({ nodes: map(text), networks: map(text), links: map(text) })),
  power: Type.Optional(map(flag)),
  owedStarts: Type.Optional(Type.Array(text)),
  folders: Type.Optional(Type.Array(text)),
  resume: optionalText,
  lease: Type.Optional(
    Type.Object({
      for: Type.Optional(integer),
      idle: Type.Optional(integer),
      atEnd: Type.Enum(leaseEnds),
      begunAt: number,
      heldUntil: Type.Optional(number),
      warning: Type.Optional(Type.Object({ step: Type.Enum([1, 2]), at: number, endsAt: number })),
      endedAt: Type.Optional(number),
    }),
  ),
  usedAt: Type.Optional(number),
  tests: Type.Optional(Type.Object({ passed: integer, failed: integer, errors: integer, at: number })),
  size: Type.Optional(Type.Object({ nodes: integer, memory: number })),
  origin: optionalText,
  updatedAt: Type.Optional(number),
});

const tokenSchema = Type.Object({
  id: text,
  name: text,
  scope: Type.Enum(tokenScopes),
  labs: Type.Optional(Type.Array(text, { minItems: 1 })),
  expiresAt: integer,
});

const accountSchema = Type.Object({
  name: text,
  role: Type.Enum(["admin", "user", "viewer"]),
  hash: text,
  oidc: Type.Optional(Type.Object({ issuer: text, subject: text })),
});

const limit = Type.Optional(number);
const quotaSchema = Type.Object({
  kind: Type.Enum(["user", "group", "default"]),
  name: text,
  labs: limit,
  nodes: limit,
  memory: limit,
  captures: limit,
  members: Type.Optional(Type.Array(text)),
});

const drainSchema = Type.Object({ stopLabs: Type.Boolean(), by: text });
const imageSchema = Type.Object({
  kind: Type.Enum(["container", "machine"]),
  name: text,
  digest: text,
  arch: text,
  bytes: number,
  users: Type.Optional(Type.Array(text)),
  template: Type.Optional(text),
});

const reservationSchema = Type.Object({
  id: text,
  user: text,
  from: number,
  until: number,
  memory: number,
  nodes: number,
  machine: Type.Optional(text),
});

const factsSchema = Type.Object({
  version: text,
  processors: number,
  load: number,
  memory: number,
  availableMemory: number,
  protocol: limit,
  images: Type.Optional(Type.Array(imageSchema)),
});

const answerSchema = Type.Union([
  Type.Object({ error: Type.Object({ code: text, error: text }) }),
  Type.Object({ result: Type.Optional(Type.Unknown()), error: Type.Optional(Type.Never()) }),
]);

/** Returns the record of a lab from its two columns, without its plans. Throws `internal` with the lab and the place of the damage. */
export function readLabRecord(path: string, record: string, contents: string | null): Omit<LabRecord, "plans"> {
  const what = `the record of ${path}`;
  const value = { ...(parsed(what, record) as object), ...(contents === null ? {} : (parsed(what, contents) as object)) };
  checked(what, recordSchema, value);
  return value as Omit<LabRecord, "plans">;
}

/** Returns the stored answer of a job. Throws `internal` with the job and the place of the damage. */
export function readJobAnswer(job: string, answer: string): JobAnswer {
  const what = `the stored answer of job ${job}`;
  const value = parsed(what, answer);
  checked(what, answerSchema, value);
  return value as JobAnswer;
}

/** Returns a quota of its row. Throws `internal` if it is damaged: without its limits it would allow everything. */
export function readQuota(quota: string): QuotaRow {
  const what = "a quota";
  const value = parsed(what, quota);
  checked(what, quotaSchema, value);
  return value as QuotaRow;
}

/** Returns a reservation of its row. Throws `internal` if it is damaged. */
export function readReservation(reservation: string): ReservationRow {
  const what = "a reservation";
  const value = parsed(what, reservation);
  checked(what, reservationSchema, value);
  return value as ReservationRow;
}

/** Columns of a machine. labels, facts: JSON. */
interface MachineColumns extends Pick<MachineRow, "number" | "name" | "url" | "state"> {
  readonly labels: string;
  readonly facts: string;
  readonly drain: string | null;
  readonly joined_at: number;
  readonly seen_at: number;
  readonly silent_ms: number;
}

/** Returns the images that a machine reports. Throws `internal` if they are damaged. */
export function readImages(machine: string, images: string): NonNullable<MachineFacts["images"]> {
  const what = `the images of the machine ${machine}`;
  const value = parsed(what, images);
  checked(what, Type.Array(imageSchema), value);
  return value as NonNullable<MachineFacts["images"]>;
}

/** Returns a machine of its row. Throws `internal` if it is damaged. */
export function readMachine({ number, name, url, state, ...columns }: MachineColumns): MachineRow {
  const what = `the machine ${name}`;
  const [labels, facts] = [parsed(what, columns.labels), parsed(what, columns.facts)];
  checked(what, map(text), labels);
  checked(what, factsSchema, facts);
  const drain = columns.drain === null ? undefined : parsed(what, columns.drain);
  if (drain !== undefined) checked(what, drainSchema, drain);
  return {
    number,
    name,
    url,
    state,
    labels: labels as MachineRow["labels"],
    facts: facts as MachineRow["facts"],
    joinedAt: columns.joined_at,
    seenAt: columns.seen_at,
    silentMs: columns.silent_ms,
    readAt: Date.now(),
    ...(drain !== undefined && { drain: drain as MachineDrain }),
  };
}

/** Returns an account of its row. Throws `internal` if it is damaged. */
export function readAccount(account: string): AccountRow {
  const what = "an account";
  const value = parsed(what, account);
  checked(what, accountSchema, value);
  return value as AccountRow;
}

/** Returns an account as it is stored: the same text for the same account. */
export function accountText({ name, role, hash, oidc }: AccountRow): string {
  return JSON.stringify({ name, role, hash, ...(oidc !== undefined && { oidc: { issuer: oidc.issuer, subject: oidc.subject } }) });
}

/** Returns the API token of a session's column. Throws `internal` if it is damaged: without its limits it would be an ordinary session. */
export function readApiToken(token: string): ApiToken {
  const what = "an API token";
  const value = parsed(what, token);
  checked(what, tokenSchema, value);
  return value as ApiToken;
}

function parsed(what: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw damaged(what, (error as Error).message, error);
  }
}

function checked(what: string, schema: TSchema, value: unknown): void {
  const [error] = Errors(schema, value);
  if (error !== undefined) throw damaged(what, `${error.instancePath || "/"} ${error.message}`);
}

function damaged(what: string, why: string, cause?: unknown): Failure {
  const text = `${what} in the service's database is damaged: ${why}. Stop the service and restore a backup`;
  return new Failure("internal", text, { cause: cause ?? new Error(text) });
}
