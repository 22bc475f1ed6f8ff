import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isFields, storedJson } from "./stored-json.ts";

const stored = new Map<string, string>();
beforeEach(() => {
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    removeItem: (key: string) => stored.delete(key),
  });
});
afterEach(() => {
  stored.clear();
  vi.unstubAllGlobals();
});

test("a damaged value, or one of another form, is removed and counts as none", () => {
  for (const text of ["{", "[1]", "5", '"a"', "null"]) {
    stored.set("key", text);
    expect(storedJson("key", isFields), text).toBeUndefined();
    expect(stored.has("key"), text).toBe(false);
  }
  stored.set("key", '{"a":1}');
  expect(storedJson("key", isFields)).toEqual({ a: 1 });
  expect(stored.has("key")).toBe(true);
  expect(storedJson("other", isFields)).toBeUndefined();
});
