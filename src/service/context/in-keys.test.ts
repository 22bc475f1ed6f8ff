import { expect, test } from "vitest";
import { inKeyText } from "./in-keys.ts";

test("a host's message about a node contains the node's key, and other words stay", () => {
  const node = { key: "pc1-2", name: "pc1" };
  expect(inKeyText("start node pc1: Failed to start node (12)", node)).toBe("start node pc1-2: Failed to start node (12)");
  expect(inKeyText("node pc1 ran and ended; pc1 is on pc1", node)).toBe("node pc1-2 ran and ended; pc1 is on pc1");
  expect(inKeyText("the console of pc1 was not opened", node)).toBe("the console of pc1-2 was not opened");
  expect(inKeyText("node pc1-3 and node pc10 failed.", node)).toBe("node pc1-3 and node pc10 failed.");
  expect(inKeyText("node pc1.", node)).toBe("node pc1-2.");
  expect(inKeyText("node pc1 failed", { key: "pc1", name: "pc1" })).toBe("node pc1 failed");
  expect(inKeyText("node pc1 failed", { key: "pc1" })).toBe("node pc1 failed");
});
