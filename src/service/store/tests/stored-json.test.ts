import { expect, test } from "vitest";
import { readJobAnswer, readLabRecord } from "../stored-json.ts";

const record = { path: "/pair", owner: "ann", serial: 1, ids: { nodes: { r1: "1" }, networks: {}, links: {} }, power: { r1: true } };

test("the record of a lab is read from its two columns", () => {
  expect(readLabRecord("/pair", JSON.stringify(record), JSON.stringify({ yaml: "name: pair", files: {} }))).toEqual({
    ...record,
    yaml: "name: pair",
    files: {},
  });
});

test("a record of an older release, in one column and without later fields, is read", () => {
  expect(readLabRecord("/pair", JSON.stringify({ path: "/pair", owner: "ann", files: {} }), null)).toMatchObject({ owner: "ann" });
});

test.each([
  ["cut-off JSON", '{"path"', null, /the record of \/pair in the service's database is damaged: .*JSON/],
  ["a missing owner", '{"path":"/pair"}', null, /owner/],
  [
    "a wrong id",
    JSON.stringify({ ...record, ids: { nodes: { r1: 1 }, networks: {}, links: {} } }),
    null,
    /\/ids\/nodes\/r1 must be string/,
  ],
  ["wrong contents", JSON.stringify(record), '{"files":{"a":1}}', /\/files\/a must be string/],
  ["a record that is no object", '"text"', null, /damaged/],
])("a record with %s is refused with its lab and place", (_name, text, contents, message) => {
  expect(() => readLabRecord("/pair", text, contents)).toThrow(message);
});

test("a stored answer is a result or an error", () => {
  expect(readJobAnswer("j1", '{"result":{"lab":"/pair"}}')).toEqual({ result: { lab: "/pair" } });
  expect(readJobAnswer("j1", '{"error":{"code":"lab_busy","error":"busy"}}')).toMatchObject({ error: { code: "lab_busy" } });
  expect(() => readJobAnswer("j1", '{"error":{"code":1}}')).toThrow(/the stored answer of job j1 .*damaged/);
  expect(() => readJobAnswer("j1", "{")).toThrow(/damaged/);
});
