import Type, { type Static } from "typebox";
import { selectorFields } from "./project.ts";
import { files, list, name, optionalFlag, optionalJson, optionalName, optionalText, text, word } from "./shapes.ts";

export const TrafficFilterData = Type.Object({
  name: text,
  color: optionalText,
  /** A pcap filter. */
  match: text,
  nodes: Type.Optional(list(text)),
  links: Type.Optional(list(text)),
});
export type TrafficFilterData = Static<typeof TrafficFilterData>;

/** as_written true: the original text with comments and secrets, for users who may edit the lab. */
export const PublicProjectPayload = Type.Object({ ...selectorFields, as_written: optionalFlag });
export type PublicProjectPayload = Static<typeof PublicProjectPayload>;

/** The intent without secrets; with as_written as it was written. */
export const PublicProjectData = Type.Object({
  lab: text,
  name: text,
  yaml: text,
  files,
  traffic_filters: list(TrafficFilterData),
  revision: text,
});
export type PublicProjectData = Static<typeof PublicProjectData>;

/**
 * Either section and value (the new content of the section, any JSON), or intent (the new text as a whole, for users who may edit the lab). A revision that
 * is not the current one: plan_stale.
 */
export const EditPayload = Type.Object({
  ...selectorFields,
  section: Type.Optional(word(["traffic_filters", "description", "texts", "links", "nodes", "networks", "shapes"])),
  value: optionalJson,
  intent: Type.Optional(Type.Object({ yaml: text, files })),
  revision: optionalName,
});
export type EditPayload = Static<typeof EditPayload>;

export const EditData = Type.Object({ yaml: text, revision: text });
export type EditData = Static<typeof EditData>;

export const TrafficPayload = Type.Object({
  ...selectorFields,
  /** Names of traffic filters. */
  filters: Type.Optional(list(name, 1000)),
  /** IaC node key; absent or empty: all nodes. */
  node: optionalName,
  link: optionalName,
  /** The stream has the rates of all links, once a second, instead of packets. */
  rates: optionalFlag,
});
export type TrafficPayload = Static<typeof TrafficPayload>;

/** stream: the one-time ticket for streamTraffic. */
export const TrafficAttachData = Type.Object({ stream: text, transport: word(["host-traffic"]) });
export type TrafficAttachData = Static<typeof TrafficAttachData>;
