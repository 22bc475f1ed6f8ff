import { afterEach, expect, test, vi } from "vitest";
import { slowSteps } from "./slow-steps.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

test("warns of a slow step, also of one that fails, and of no other", async () => {
  const warnings: string[] = [];
  const step = slowSteps("the start", (text) => warnings.push(text));
  const now = vi.spyOn(performance, "now");
  const takes = (ms: number) => now.mockReturnValueOnce(0).mockReturnValueOnce(ms);
  takes(4_000);
  expect(await step("a quick step", async () => 1)).toBe(1);
  takes(12_340);
  expect(await step("a slow step", async () => 2)).toBe(2);
  takes(6_000);
  await expect(step("a failure", () => Promise.reject(new Error("no disk")))).rejects.toThrow("no disk");
  expect(warnings).toEqual(["the start: a slow step took 12.3 s", "the start: a failure took 6.0 s"]);
});
