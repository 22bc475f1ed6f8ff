import Type, { type Static } from "typebox";
import { flag, integer, list, number, optionalFlag, optionalText, text, time, word } from "./shapes.ts";

/** provisioned: only the string "true" filters. */
export const ListTemplatesQuery = Type.Object({ provisioned: optionalText });
export type ListTemplatesQuery = Static<typeof ListTemplatesQuery>;

export const Template = Type.Object({
  id: text,
  description: text,
  /** The host's node type: linux, router, switch, pc, qemu, iol, dynamips, docker, vpcs … */
  type: text,
  provisioned: flag,
  icon: optionalText,
  configSupported: flag,
});
export type Template = Static<typeof Template>;

export const TemplatesData = Type.Object({ templates: Type.Optional(list(Template)) });
export type TemplatesData = Static<typeof TemplatesData>;

export const TemplateImage = Type.Object({
  name: text,
  default: flag,
  size_bytes: Type.Optional(integer),
  modified_at: Type.Optional(time),
});
export type TemplateImage = Static<typeof TemplateImage>;

export const TemplateAttribute = Type.Object({
  name: text,
  label: text,
  type: word(["string", "integer", "number", "boolean", "enum", "text"]),
  default: Type.Optional(Type.Union([text, number, flag])),
  required: flag,
  options: Type.Optional(list(Type.Object({ value: text, label: text }))),
  min: Type.Optional(number),
  max: Type.Optional(number),
  unit: optionalText,
  description: optionalText,
});
export type TemplateAttribute = Static<typeof TemplateAttribute>;

export const TemplateDetail = Type.Object({
  id: optionalText,
  description: optionalText,
  type: optionalText,
  provisioned: optionalFlag,
  configSupported: optionalFlag,
  images: Type.Optional(list(TemplateImage)),
  /** The image that a node gets which names none. */
  default: optionalText,
  attributes: Type.Optional(list(TemplateAttribute)),
  /** The origin of its images, for people. */
  image_source: optionalText,
});
export type TemplateDetail = Static<typeof TemplateDetail>;

export const TemplateImagesData = Type.Object({
  template: optionalText,
  type: optionalText,
  provisioned: optionalFlag,
  default: optionalText,
  images: Type.Optional(list(TemplateImage)),
});
export type TemplateImagesData = Static<typeof TemplateImagesData>;

export const TemplateAttributesData = Type.Object({
  template: optionalText,
  type: optionalText,
  attributes: Type.Optional(list(TemplateAttribute)),
});
export type TemplateAttributesData = Static<typeof TemplateAttributesData>;

export const NetworkType = Type.Object({ type: text, description: text, external: flag, nat: flag });
export type NetworkType = Static<typeof NetworkType>;

/** natOnly: NAT is the only way out of a lab. */
export const NetworkTypesData = Type.Object({ types: Type.Optional(list(NetworkType)), natOnly: optionalFlag });
export type NetworkTypesData = Static<typeof NetworkTypesData>;

export const Icon = Type.Object({ name: text, url: optionalText, media_type: optionalText });
export type Icon = Static<typeof Icon>;

export const IconsData = Type.Object({ icons: Type.Optional(list(Icon)) });
export type IconsData = Static<typeof IconsData>;
