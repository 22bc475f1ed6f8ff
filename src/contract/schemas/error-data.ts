import Type, { type Static, type TSchema } from "typebox";
import { PlanAction } from "./plan.ts";
import { Diagnostic } from "./project.ts";
import { flag, integer, json, list, number, optionalFlag, optionalInteger, optionalText, text } from "./shapes.ts";

/** Problems of a request. `path` is a JSON pointer into the body or the query. */
const problems = list(Type.Object({ path: text, message: text }));

const StepSummary = Type.Object({ id: text, op: text, kind: text, key: text });
const FailedStep = Type.Object({ ...StepSummary.properties, message: optionalText });
const FailedNode = Type.Object({ node: text, error: text });

/** The message of the host's own software. The embedded host also sends it as a text alone. */
const HostMessage = Type.Object({
  message: optionalText,
  code: Type.Optional(Type.Union([text, number])),
  /** HTTP status of the host's answer. */
  status: optionalInteger,
  /** The node that failed, by its native id. */
  node_id: optionalText,
  pid: optionalInteger,
  needs_mib: Type.Optional(number),
  free_mib: Type.Optional(number),
});

/**
 * Steps of a change. Drivers give the ids of their steps, which the service replaces by summaries before it answers. So the TypeScript types have
 * both forms, and the schema has only that of the answer.
 */
const steps = Type.Unsafe<readonly (Static<typeof StepSummary> | string)[]>(Type.Array(StepSummary));
const failed = Type.Unsafe<readonly (Static<typeof FailedStep> | Static<typeof FailedNode> | FailedNativeNode)[] | string>(
  Type.Array(Type.Union([FailedStep, FailedNode])),
);

interface FailedNativeNode {
  /** Its native id. */
  readonly id: number;
  readonly problem: string;
}

/** Fields that only the code between a driver and the service sees. They are in no answer. */
interface DriverData {
  /** The steps of a batch that failed, by their ids. */
  readonly failures?: readonly { readonly id: string; readonly message?: string }[];
  /** All steps were one write, which failed as a whole. */
  readonly together?: boolean;
  /** Nodes that failed, by their native ids. Texts: the nodes of nodes_running. */
  readonly nodes?: readonly (string | { readonly id: number; readonly message: string })[];
}

type WithDriverData<Data> = Data & Omit<DriverData, keyof Data>;

/** Fields that the data of any error may have. */
const common = {
  /** In answers with a status of 500 and more: with it, the error is found in the log. */
  request_id: optionalText,
  hint: optionalText,
  host: Type.Optional(Type.Union([HostMessage, text])),
  /** The steps of a change that ended early. */
  applied: Type.Optional(steps),
  failed: Type.Optional(failed),
  remaining: Type.Optional(steps),
  /** Number of nodes that started before the failure. */
  started: optionalInteger,
  /** The job that continues the change. */
  job: optionalText,
  warnings: Type.Optional(list(text)),
};

/** The dialogue with a console until the failure. */
const dialogue = {
  output: optionalText,
  steps: Type.Optional(list(Type.Object({ matched: flag, output: text, duration_ms: number }))),
};

const data = <const P extends Readonly<Record<string, TSchema>>>(fields: P) => Type.Object({ ...common, ...fields });

const NumberClash = Type.Object({ number: integer, lab: optionalText, node: optionalText, certain: flag });
const collision = Type.Object({ lab: optionalText, node: optionalText, id: optionalInteger, network: optionalInteger });

/** The data of codes without a row in `errorData`. */
export const CommonErrorData = Type.Object(common);
export type CommonErrorData = WithDriverData<Static<typeof CommonErrorData>>;

/** The data of each error code. A later release may add fields. */
export const errorData = {
  bad_request: data({ problems }),
  unknown_field: data({ problems }),
  field_not_allowed: data({ field: optionalText, problems: Type.Optional(problems) }),
  invalid_intent: data({
    diagnostics: list(Diagnostic),
    blocked: Type.Optional(list(PlanAction)),
    unsupported: Type.Optional(list(text)),
  }),
  invalid_source: data({
    file: optionalText,
    line: optionalInteger,
    /** The labs of an archive, of which the caller has to choose one. */
    candidates: Type.Optional(list(text)),
  }),
  operation_not_allowed: data({ moved_to: optionalText }),
  lab_not_found: data({ path: optionalText, moved_to: optionalText }),
  link_not_found: data({ endpoints: list(text) }),
  plan_stale: data({ revision: optionalText }),
  lab_elsewhere: data({ lab: text }),
  /** seen_at: RFC 3339. */
  machine_unreachable: data({ machine: text, seen_at: optionalText }),
  store_unavailable: data({ job: optionalText }),
  lab_busy: data({
    operation: Type.Object({ name: text, user: text, started_at: text, step: integer, steps: integer }),
  }),
  session_exists: data({ username: text, ticket_username: text }),
  node_not_running: data({ ...dialogue, node: optionalText, power: optionalText, log: optionalFlag }),
  /** Memory: MiB. wanted: with the change. Without a name: the default quota. */
  quota_exceeded: data({
    quota: Type.Object({ kind: text, name: optionalText, resource: text, used: number, wanted: number, limit: number }),
  }),
  /** from, until: RFC 3339; without until, no end is known. */
  room_reserved: data({ machine: optionalText, from: text, until: optionalText }),
  capture_limit: data({ limit: text, most: optionalInteger }),
  /** Without clash: the host does not name the other lab. */
  number_clash: data({ clash: Type.Optional(NumberClash), collision: Type.Optional(collision) }),
  node_stuck: data({ node: text }),
  lab_in_use: data({ users: list(text) }),
  nodes_running: data({ nodes: list(text) }),
  cancelled: data(dialogue),
  payload_too_large: data({ limit: integer }),
  unsupported: data({ feature: text, console_type: optionalText }),
  lab_locked: data({ lab: text }),
  lab_locked_mid_apply: data({ lab: optionalText }),
  host_error: data({
    retryable: optionalFlag,
    /** The host cannot read the lab's definition. */
    unreadable: optionalFlag,
    collision: Type.Optional(json),
  }),
  host_timeout: data({ ...dialogue, code: optionalInteger, stdout: optionalText, stderr: optionalText }),
  shutting_down: data(dialogue),
  /** reason: not_found, unauthorized, unreachable, digest_mismatch, wrong_platform, too_large, disk_full, timeout … */
  image_pull_failed: data({ image: text, reason: text }),
  console_timeout: data({ output: text, steps: dialogue.steps }),
  tls_untrusted: data({ fingerprint: text, reason: optionalText }),
  tls_pin_mismatch: data({ fingerprint: text }),
};

export type ErrorDataTable = { readonly [Code in keyof typeof errorData]: WithDriverData<Static<(typeof errorData)[Code]>> };
