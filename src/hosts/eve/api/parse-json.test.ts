import { expect, test } from "vitest";
import { parseJson } from "./parse-json.ts";

const nested = (levels: number) => Buffer.from(`{"data":${"[".repeat(levels)}${"]".repeat(levels)}}`);

test("an answer that is nested deeper than any true one is refused before it is parsed", () => {
  for (const levels of [100, 2_000_000]) expect(() => parseJson(nested(levels))).toThrow("nested deeper than 100 levels");
  expect(() => parseJson(Buffer.from(`{"data":[${"[],".repeat(1_000_001)}1]}`))).toThrow("more than 1000000 parts");
  expect(() => parseJson(Buffer.from(`{"data":[${"0,".repeat(1_000_001)}1]}`))).toThrow("more than 1000000 parts");
  expect(parseJson(nested(99))).toHaveProperty("data");
});

test("brackets in texts are not counted, with any escapes in them", () => {
  const data = { text: `"${"[{".repeat(1000)}\\`, more: '\\"[', end: [1] };
  expect(parseJson(Buffer.from(` ${JSON.stringify(data)}`))).toEqual(data);
});

test("what is no JSON object is undefined", () => {
  for (const text of ["", "null", "[]", "x[[", "<html>", '{"a":']) expect(parseJson(Buffer.from(text))).toBeUndefined();
});
