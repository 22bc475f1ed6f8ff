import Type, { type Static } from "typebox";
import { selectorFields } from "./project.ts";
import { flag, integer, list, name, number, optionalFlag, optionalName, optionalText, text, typing, uniqueKey, word } from "./shapes.ts";

const timeoutMs = Type.Optional(Type.Integer({ minimum: 1, maximum: 600_000 }));

export const ConsoleTarget = Type.Object({ node: name, command: Type.Optional(typing), timeout_ms: timeoutMs });
export type ConsoleTarget = Static<typeof ConsoleTarget>;

export const ConsolePayload = Type.Object({
  ...selectorFields,
  /** IaC node key; absent or empty: all nodes. */
  node: optionalName,
  command: Type.Optional(typing),
  timeout_ms: timeoutMs,
  targets: Type.Optional(list(ConsoleTarget, 1000)),
});
export type ConsolePayload = Static<typeof ConsolePayload>;

export const ConsoleExecData = Type.Object({
  node: optionalText,
  name: optionalText,
  console_type: optionalText,
  command: optionalText,
  output: optionalText,
  duration_ms: Type.Optional(integer),
  /** true: the output was longer than what is kept; the rest is left out. */
  truncated: optionalFlag,
});
export type ConsoleExecData = Static<typeof ConsoleExecData>;

/** Like ConsoleExecData; one target's failure stays on that target. */
export const ConsoleExecResult = Type.Object({
  node: optionalText,
  name: optionalText,
  console_type: optionalText,
  command: optionalText,
  output: optionalText,
  duration_ms: Type.Optional(integer),
  /** true: the output was longer than what is kept; the rest is left out. */
  truncated: optionalFlag,
  ok: optionalFlag,
  code: optionalText,
  error: optionalText,
});
export type ConsoleExecResult = Static<typeof ConsoleExecResult>;

export const ConsoleExecManyData = Type.Object({ results: Type.Optional(list(ConsoleExecResult)) });
export type ConsoleExecManyData = Static<typeof ConsoleExecManyData>;

export const ConsoleAttachData = Type.Object({
  node: optionalText,
  name: optionalText,
  console_type: optionalText,
  /** The one-time ticket for streamConsole. */
  stream: optionalText,
  transport: Type.Optional(word(["host-telnet"])),
});
export type ConsoleAttachData = Static<typeof ConsoleAttachData>;

export const ConsoleLogPayload = Type.Object({ ...selectorFields, node: name });
export type ConsoleLogPayload = Static<typeof ConsoleLogPayload>;

/** The last 64 KiB, as a person would read them: escape sequences are taken out. "" before the first start. */
export const ConsoleLogData = Type.Object({ node: text, name: text, console_type: text, output: text });
export type ConsoleLogData = Static<typeof ConsoleLogData>;

export const ConsoleStep = Type.Object({
  send: Type.Optional(typing),
  /** A text that must come, or a regular expression. */
  expect: Type.Optional(Type.Union([typing, Type.Object({ regex: name })])),
  timeout_ms: timeoutMs,
  /** The sent text is kept out of output and logs. */
  secret: optionalFlag,
});
export type ConsoleStep = Static<typeof ConsoleStep>;

export const ConsoleRunPayload = Type.Object({ ...selectorFields, node: name, steps: list(ConsoleStep, 1000) });
export type ConsoleRunPayload = Static<typeof ConsoleRunPayload>;

export const ConsoleRunData = Type.Object({
  node: text,
  steps: list(Type.Object({ matched: flag, output: text, duration_ms: number })),
  output: text,
});
export type ConsoleRunData = Static<typeof ConsoleRunData>;

export const ConsoleEntry = Type.Object({
  /** IaC node key; null if the node is not joined to the intent. */
  node: Type.Union([text, Type.Null()]),
  unique_key: uniqueKey,
  id: text,
  name: text,
  console_type: text,
  status: text,
  available: flag,
  /** Address of the running node's screen for a VNC client on the service's machine: `unix:<path>`. */
  vnc: optionalText,
});
export type ConsoleEntry = Static<typeof ConsoleEntry>;

export const ConsolesData = Type.Object({ lab: optionalText, consoles: Type.Optional(list(ConsoleEntry)) });
export type ConsolesData = Static<typeof ConsolesData>;
