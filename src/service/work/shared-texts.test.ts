import fc from "fast-check";
import { expect, test } from "vitest";
import { packed, unpacked } from "./shared-texts.ts";

const long = "a".repeat(2000);
const sent = (value: unknown) => unpacked(structuredClone(packed(value)));

test("a long text of many nodes is sent once", () => {
  const nodes = Array.from({ length: 500 }, (_, index) => ({ key: `n${index}`, files: { "/x": { text: `${long}` } }, exec: [`b${long}`] }));
  const message = packed({ nodes, files: { f: long } });
  expect(message.texts.map(({ text }) => text.length)).toEqual([2000, 2001]);
  expect(JSON.stringify(message.value)).toContain(JSON.stringify({ text: { text: long } }));
  expect(unpacked(structuredClone(message))).toEqual({ nodes, files: { f: long } });
});

test("a message that looks like a packed one, and keys with a meaning in JavaScript, stay as they are", () => {
  const value = JSON.parse(`{"a": {"text": "${long}"}, "b": {"text": "${long}"}, "__proto__": "${long}"}`);
  expect(JSON.stringify(sent(value))).toBe(JSON.stringify(value));
});

test("every message arrives unchanged, and the sender's value is not changed", () => {
  const leaf = fc.oneof(fc.constantFrom(long, `b${long}`, "short", 1, null, true), fc.string());
  const data = fc.letrec((tie) => ({
    value: fc.oneof(leaf, fc.array(tie("value")), fc.dictionary(fc.string(), tie("value")), fc.constant(new Map([[long, long]]))),
  })).value;
  fc.assert(
    fc.property(data, (value) => {
      const before = structuredClone(value);
      expect(sent({ value, again: [value, value] })).toEqual({ value, again: [value, value] });
      expect(value).toEqual(before);
    }),
  );
});
