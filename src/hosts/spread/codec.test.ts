import { expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import { decode, encode } from "./codec.ts";

test("maps and failures are kept, and data of users is never taken for one", () => {
  const value = {
    map: new Map<string, unknown>([["a", new Map([[1, { x: [1, null] }]])]]),
    labels: { "~map": "x", more: { "~failure": { code: "internal", message: "m" } } },
    both: [{ "~entries": [["~map", []]], "~map": new Map([["k", { "~map": 1 }]]) }],
    proto: JSON.parse('{"__proto__": {"~map": 1}}') as unknown,
  };
  expect(decode(encode(value))).toEqual(value);
  const failure = decode(encode(new Failure("host_error", "broken", { data: { host: "why" } })));
  expect(failure).toBeInstanceOf(Failure);
  expect(failure).toMatchObject({ code: "host_error", message: "broken", data: { host: "why" } });
  expect(decode(encode(undefined))).toBeNull();
});
