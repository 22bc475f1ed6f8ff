import Type, { type Static } from "typebox";
import { selectorFields } from "./project.ts";
import { integer, list, map, name, optionalInteger, optionalName, optionalText, text, word } from "./shapes.ts";

/** An argument of a program. */
const argument = Type.String({ maxLength: 131_072 });

/** Columns or rows of a terminal. */
const extent = Type.Integer({ minimum: 1, maximum: 10_000 });

export const NodeExecPayload = Type.Object({
  ...selectorFields,
  /** A node, or a selector as in `nodes`. Absent or empty, and no `nodes`: all running nodes. */
  node: optionalName,
  /** Nodes by key; a pattern with * and ?; kind=TEMPLATE; or LABEL=VALUE. */
  nodes: Type.Optional(list(name)),
  /** The program and its arguments. No shell reads them. */
  argv: Type.Unsafe<readonly string[]>(Type.Array(argument, { minItems: 1, maxItems: 4096 })),
  /** Added to the node's environment. Not stored or logged. */
  env: Type.Optional(map(argument)),
  /** Work directory in the node. */
  cwd: optionalName,
  /** Standard input for each node, as text or as base64. Absent: empty. Not stored or logged. */
  stdin: optionalText,
  stdin_base64: optionalText,
  /** The program and all that it has started are killed after this time. Absent: never. */
  timeout_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400_000 })),
  /** Maximum bytes that the program may write in one node, both outputs together. When it writes more, it is killed. Absent: no limit. */
  max_output_bytes: Type.Optional(Type.Integer({ minimum: 1 })),
});
export type NodeExecPayload = Static<typeof NodeExecPayload>;

/**
 * One step of a call. begin: `nodes`, all that the call runs in. output: `stream` and `data` in base64. end: `exit_code`, or `signal` such as SIGKILL; `reason` if the
 * program was ended: timeout, output_limit, node_stopped. failed: `code` and `error`; the program did not start, or its end is unknown.
 */
export const NodeExecEvent = Type.Object({
  type: word(["begin", "output", "end", "failed"]),
  nodes: Type.Optional(list(text)),
  node: optionalText,
  stream: Type.Optional(word(["stdout", "stderr"])),
  data: optionalText,
  exit_code: optionalInteger,
  signal: optionalText,
  reason: Type.Optional(word(["timeout", "output_limit", "node_stopped"])),
  duration_ms: Type.Optional(integer),
  code: optionalText,
  error: optionalText,
});
export type NodeExecEvent = Static<typeof NodeExecEvent>;

export const NodeAttachPayload = Type.Object({
  ...selectorFields,
  node: name,
  /** The program and its arguments. Absent: a shell. */
  argv: Type.Optional(NodeExecPayload.properties.argv),
  /** Added to the node's environment. Not stored or logged. */
  env: Type.Optional(map(argument)),
  /** Work directory in the node. */
  cwd: optionalName,
  /** The program and all processes of its session are killed after this time, ms. Absent: never. */
  timeout_ms: NodeExecPayload.properties.timeout_ms,
  /** The program gets a terminal of its own, of this size. Absent: standard input and both outputs are pipes. */
  terminal: Type.Optional(Type.Object({ columns: extent, rows: extent })),
});
export type NodeAttachPayload = Static<typeof NodeAttachPayload>;

/** `stream` is the one-time ticket for streamProcess. */
export const NodeAttachData = Type.Object({ node: text, stream: text, transport: word(["host-process"]) });
export type NodeAttachData = Static<typeof NodeAttachData>;

export const NodeCopyPayload = Type.Object({
  ...selectorFields,
  node: name,
  /** An absolute path in the node. */
  path: Type.String({ minLength: 1, maxLength: 4096 }),
  /**
   * from_node: standard output is a tar archive of the file or folder, whose entries begin with its last name. to_node: standard input is a tar archive for
   * the folder `path`. If `path` is not a folder, the archive is for its parent folder. The first line of the output is "folder" or "parent" accordingly.
   */
  direction: word(["from_node", "to_node"]),
});
export type NodeCopyPayload = Static<typeof NodeCopyPayload>;

/** A control frame of the client on the stream: the end of the input, a size of the terminal, or a signal such as SIGINT. */
export const NodeStreamControl = Type.Object({
  input_end: Type.Optional(Type.Boolean()),
  resize: Type.Optional(Type.Tuple([extent, extent])),
  signal: optionalText,
});
export type NodeStreamControl = Static<typeof NodeStreamControl>;
