import type { TemplateAttribute } from "../../../host.ts";
import type { LocalAttribute, LocalTemplate } from "../template.ts";
import type { MapReader, Reader } from "./reader.ts";

/** Returns the attributes of the file, and the inherited ones. A property of the file's own `vm` is the default of the attribute of this name. */
export function readAttributes(map: MapReader, base: LocalTemplate | undefined): readonly LocalAttribute[] {
  const own = map.get("attributes").optional()?.list().map(attributeOf) ?? [];
  if (base === undefined) return own;
  const settings = map.get("vm").value;
  const values = new Map(Object.entries(typeof settings === "object" && settings !== null ? settings : {}));
  const inherited = base.attributes
    .filter(({ name }) => !own.some((attribute) => attribute.name === name))
    .map((attribute) => (values.has(attribute.name) ? { ...attribute, default: values.get(attribute.name) } : attribute));
  return [...inherited, ...own];
}

function attributeOf(reader: Reader): LocalAttribute {
  const map = reader.map(["name", "label", "type"], ["default", "required", "options", "words", "min", "max", "unit", "description"]);
  const type = map.get("type").oneOf(["string", "integer", "number", "boolean", "enum", "text"]) ?? "string";
  const options = map
    .get("options")
    .optional()
    ?.list()
    .map((option) => {
      const pair = option.map(["value", "label"]);
      return { value: pair.get("value").text() ?? "", label: pair.get("label").text() ?? "" };
    });
  if ((type === "enum") !== (options !== undefined)) map.get("options").fail("options go with type enum, and only with it");
  const words = map
    .get("words")
    .optional()
    ?.list()
    .flatMap((word) => word.text() ?? []);
  if (words !== undefined && type !== "string") map.get("words").fail("words go with type string");
  const numeric = type === "integer" || type === "number";
  const min = map.get("min").optional()?.number();
  const max = map.get("max").optional()?.number();
  if (!numeric && (min !== undefined || max !== undefined)) reader.fail(`type ${type} has no min and max: remove them`);
  const fallback = map.get("default").optional();
  const unit = map.get("unit").optional()?.text();
  const description = map.get("description").optional()?.text();
  const attribute: LocalAttribute = {
    name: map.get("name").text(/^[a-z][a-z0-9-]*$/, "lower-case letters, digits and '-'") ?? "",
    label: map.get("label").text() ?? "",
    type,
    required: map.get("required").optional()?.boolean() ?? false,
    ...(options === undefined ? {} : { options }),
    ...(words === undefined ? {} : { words }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...(unit === undefined ? {} : { unit }),
    ...(description === undefined ? {} : { description }),
  };
  if (fallback === undefined) return attribute;
  const value = defaultOf(fallback, attribute);
  return value === undefined ? attribute : { ...attribute, default: value };
}

function defaultOf(reader: Reader, attribute: TemplateAttribute): string | number | boolean | undefined {
  switch (attribute.type) {
    case "boolean":
      return reader.boolean();
    case "integer":
      return reader.integer(attribute.min, attribute.max);
    case "number":
      return reader.number(attribute.min, attribute.max);
    case "enum":
      return reader.oneOf((attribute.options ?? []).map((option) => option.value));
    default:
      return reader.string();
  }
}
