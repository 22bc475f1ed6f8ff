import Type, { type Static } from "typebox";
import { flag, integer, json, list, map, optionalFiles, optionalFlag, optionalName, optionalText, text, word } from "./shapes.ts";

export const AuthoringPayload = Type.Object({
  /** Refused when not empty. */
  dir: optionalText,
  yaml: optionalText,
  files: optionalFiles,
  /** IaC node key; absent or empty: all nodes. */
  node: optionalName,
  template: optionalName,
  attributes: Type.Optional(map(json)),
  excludeUsed: optionalFlag,
  /** Interface names by index, "eth{0}" style. */
  eth_format: Type.Optional(Type.String({ maxLength: 64 })),
});
export type AuthoringPayload = Static<typeof AuthoringPayload>;

export const Iface = Type.Object({
  node: text,
  name: text,
  index: integer,
  type: word(["ethernet", "serial"]),
  used: flag,
  /** "node:interface", or the key of a network. */
  peer: optionalText,
});
export type Iface = Static<typeof Iface>;

export const LinkCompletionsData = Type.Object({ node: optionalText, items: Type.Optional(list(Iface)) });
export type LinkCompletionsData = Static<typeof LinkCompletionsData>;

export const InterfacesPreviewData = Type.Object({ items: Type.Optional(list(Iface)) });
export type InterfacesPreviewData = Static<typeof InterfacesPreviewData>;
