import fc from "fast-check";
import type { XmlAttribute, XmlElement } from "../../../formats/xml/xml.ts";
import { type Container, containers, type Other, type UnlLab } from "./unl.ts";
import type { AttributeTable } from "./unl-attributes.ts";
import {
  configAttributes,
  interfaceAttributes,
  labAttributes,
  networkAttributes,
  nodeAttributes,
  pictureAttributes,
  slotAttributes,
  textObjectAttributes,
} from "./unl-attributes.ts";

/** Anything that XML can carry, often what must be escaped. */
const text = fc
  .oneof(
    fc.string(),
    fc.string({ unit: "grapheme" }),
    fc.string({ unit: fc.constantFrom("&", "<", ">", '"', "'", "]]>", "\r", "\n", "\t", " ", "&amp;", "<!--", "é", "日") }),
  )
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML cannot contain these characters
  .map((value) => value.replaceAll(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, ""));

const spoken = text.filter((value) => value !== "");
const name = fc.stringMatching(/^[a-zé_][a-z0-9_.-]{0,6}$/);
const integer = fc.oneof(fc.integer(), fc.maxSafeInteger());
/** Values that look like numbers and are not kept as numbers. */
const notInteger = fc.constantFrom("", "01", "1.0", "+1", " 1", "25%", "-0", "1e3", "NaN", "0x10", "99999999999999999999");

function attributesBut(table: AttributeTable): fc.Arbitrary<readonly XmlAttribute[]> {
  const unknown = fc.tuple(
    name.filter((each) => !Object.hasOwn(table, each)),
    text,
  );
  const unreadable = Object.keys(table).filter((each) => table[each] === "integer" && each !== "id");
  const odd = unreadable.length === 0 ? [] : [{ arbitrary: fc.tuple(fc.constantFrom(...unreadable), notInteger), weight: 1 }];
  return fc.uniqueArray(fc.oneof({ arbitrary: unknown, weight: 3 }, ...odd), { selector: ([each]) => each, maxLength: 3 });
}

const { tree } = fc.letrec<{ tree: XmlElement }>((tie) => ({
  tree: fc.record({
    name,
    attributes: attributesBut({}),
    children: fc.oneof(
      { depthSize: "small" },
      fc.constant([]),
      spoken.map((value) => [value]),
      fc.array(tie("tree"), { minLength: 1, maxLength: 2 }),
      fc
        .tuple(
          tie("tree"),
          spoken.map((value) => `x${value}`),
          tie("tree"),
        )
        .map((children) => [...children]),
    ),
  }),
}));

function other(table: AttributeTable, known: readonly string[]): fc.Arbitrary<Other> {
  const elements = fc.array(
    tree.filter((each) => !known.includes(each.name)),
    { maxLength: 2 },
  );
  return fc.record({ attributes: attributesBut(table), elements }).map(({ attributes, elements: found }) => ({
    ...(attributes.length === 0 ? {} : { otherAttributes: attributes }),
    ...(found.length === 0 ? {} : { otherElements: found }),
  }));
}

function attributesOf(table: AttributeTable): fc.Arbitrary<Readonly<Record<string, string | number>>> {
  const each = Object.fromEntries(Object.entries(table).map(([key, kind]) => [key, kind === "integer" ? integer : text]));
  return fc.record(each, { requiredKeys: Object.hasOwn(table, "id") && table.id === "integer" ? ["id"] : [] }) as fc.Arbitrary<
    Record<string, string | number>
  >;
}

/** An object with a table's attributes, `others`, and more fields. An attribute with a value is not also in `others`. */
function object<More extends object>(
  table: AttributeTable,
  known: readonly string[],
  more: fc.Arbitrary<More>,
): fc.Arbitrary<More & { id: number }> {
  return fc.tuple(attributesOf(table), other(table, known), more).map(([attributes, { otherAttributes = [], ...rest }, parts]) => {
    const left = otherAttributes.filter(([key]) => !Object.hasOwn(attributes, key));
    return { ...attributes, ...parts, ...rest, ...(left.length === 0 ? {} : { otherAttributes: left }) } as unknown as More & {
      id: number;
    };
  });
}

const none = fc.constant({});
const few = { maxLength: 3 };
const optional = { requiredKeys: [] };

const node = object(
  nodeAttributes,
  ["slot", "interface"],
  fc
    .tuple(fc.array(object(slotAttributes, [], none), few), fc.array(object(interfaceAttributes, [], none), few))
    .map(([slots, interfaces]) => ({
      ...(slots.length === 0 ? {} : { slots }),
      interfaces,
    })),
);
const config = object(
  configAttributes,
  [],
  fc.oneof(
    text.map((value) => ({ text: value })),
    fc.uint8Array({ minLength: 1 }).map((bytes) => {
      // A first byte that never occurs in UTF-8.
      return { text: Buffer.from([0xff, ...bytes]).toString("latin1"), encoding: "latin1" as const };
    }),
  ),
);
const inside: Readonly<Record<Container, readonly string[]>> = {
  topology: ["nodes", "networks"],
  nodes: ["node"],
  networks: ["network"],
  objects: ["textobjects", "pictures", "configs"],
  textobjects: ["textobject"],
  pictures: ["picture"],
  configs: ["config"],
};

/** A lab with all known and unknown parts that a file can have. */
export const anyUnlLab: fc.Arbitrary<UnlLab> = object(
  labAttributes,
  ["topology", "objects", "description", "body"],
  fc
    .tuple(
      fc.record({ description: text, body: text }, optional),
      fc.record({
        nodes: fc.array(node, few),
        networks: fc.array(object(networkAttributes, [], none), few),
        textObjects: fc.array(object(textObjectAttributes, ["data"], fc.record({ data: text }, optional)), few),
        pictures: fc.array(object(pictureAttributes, ["data", "map"], fc.record({ data: text, map: text }, optional)), few),
        configs: fc.array(config, few),
      }),
      fc.record(Object.fromEntries(containers.map((each) => [each, other({}, inside[each])])) as Record<Container, fc.Arbitrary<Other>>),
    )
    .map(([texts, lists, around]) => {
      const kept = containers.filter((each) => Object.keys(around[each]).length > 0).map((each) => [each, around[each]]);
      return { ...texts, ...lists, ...(kept.length === 0 ? {} : { containers: Object.fromEntries(kept) }) };
    }),
) as unknown as fc.Arbitrary<UnlLab>;
