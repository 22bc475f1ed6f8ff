import { expect, test } from "vitest";
import { textsWithIds } from "./texts.ts";

const [first, second, third] = [
  { text: "first", x: 0, y: 0 },
  { text: "second", x: 10, y: 0 },
  { text: "third", x: 20, y: 0 },
];
const before = textsWithIds([], [first, second, third]);
const idsOf = (...texts: (typeof first)[]) => textsWithIds(before, texts).map(({ id }) => id);

test("a text keeps its id while it is moved or changed, and when one before it is removed", () => {
  expect(idsOf(second, third)).toEqual(["text:2", "text:3"]);
  expect(idsOf({ ...first, x: 99 }, { ...second, text: "other" }, third)).toEqual(["text:1", "text:2", "text:3"]);
});

test("a new text has a new id, also at the place or with the words of another one", () => {
  expect(idsOf(first, second, third, { ...third, text: "fourth" })).toEqual(["text:1", "text:2", "text:3", "text:4"]);
  expect(idsOf(first, first, second, third)).toEqual(["text:1", "text:4", "text:2", "text:3"]);
});
