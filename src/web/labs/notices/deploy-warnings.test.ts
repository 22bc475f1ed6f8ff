import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepWarnings, keptWarnings } from "./deploy-warnings.ts";

/** The storage of a tab: its keys are properties. */
class TabStorage {
  getItem(key: string): string | null {
    return Object.hasOwn(this, key) ? (Reflect.get(this, key) as string) : null;
  }
  setItem(key: string, value: string): void {
    Reflect.set(this, key, value);
  }
  removeItem(key: string): void {
    Reflect.deleteProperty(this, key);
  }
}

beforeEach(() => void vi.stubGlobal("sessionStorage", new TabStorage()));
afterEach(() => void vi.unstubAllGlobals());

const warning = { code: "config_refused", node: "r1", message: "unknown command: ip adress" };

test("the warnings of a deploy are kept for the page of its lab until they are closed or the lab is deployed without any", () => {
  keepWarnings("/a", [warning]);
  keepWarnings("/b", [warning]);
  expect([keptWarnings("/a"), keptWarnings("/c")]).toEqual([[warning], []]);
  keepWarnings("/a");
  keepWarnings("/b", []);
  expect([keptWarnings("/a"), keptWarnings("/b")]).toEqual([[], []]);
});
