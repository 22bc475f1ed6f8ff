import Type, { type Static } from "typebox";
import { LinkQuality, LinkQualitySides } from "./observe.ts";
import { selectorFields } from "./project.ts";
import { flag, list, name, optionalFlag, text, word } from "./shapes.ts";

/** Two public endpoints, "node:interface" or a network's key, in either order. */
const endpoints = Type.Unsafe<readonly [string, string]>(Type.Array(name, { minItems: 2, maxItems: 2 }));

/** a shapes what leaves endpoints[0]; a side absent is cleared. save true persists, absent changes the live link only. */
export const LinkQualityPayload = Type.Object({
  ...selectorFields,
  endpoints,
  a: Type.Optional(LinkQuality),
  b: Type.Optional(LinkQuality),
  save: optionalFlag,
});
export type LinkQualityPayload = Static<typeof LinkQualityPayload>;

/** effective is read back from the host, not echoed. */
export const LinkQualityData = Type.Object({
  lab: text,
  link: text,
  endpoints: list(text),
  stored: LinkQualitySides,
  effective: LinkQualitySides,
  saved: flag,
});
export type LinkQualityData = Static<typeof LinkQualityData>;

/** side absent: both node endpoints. */
export const LinkSuspendPayload = Type.Object({
  ...selectorFields,
  endpoints,
  suspended: flag,
  side: Type.Optional(word(["a", "b"])),
});
export type LinkSuspendPayload = Static<typeof LinkSuspendPayload>;

export const LinkSuspendData = Type.Object({
  lab: text,
  link: text,
  suspended: Type.Object({ a: flag, b: flag }),
});
export type LinkSuspendData = Static<typeof LinkSuspendData>;
