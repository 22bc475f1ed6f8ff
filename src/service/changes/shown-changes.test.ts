import { expect, test } from "vitest";
import type { Change } from "../../engine/model/plan.ts";
import { withBoundedTexts } from "./shown-changes.ts";

const action = (changes: readonly Change[]) => ({ changes });

test("texts of a plan are complete up to the maximum; later ones show their beginning and the number of the other characters", () => {
  const text = "a".repeat(5000);
  const config: Change = { field: "startup-config", before: null, after: text };
  const files: Change = { field: "files", before: {}, after: { "/x": { text, mode: 420 } } };
  const [first, second, third] = withBoundedTexts([action([config]), action([files, { ...config, after: "short" }]), action([])], 6000);
  expect(first).toEqual(action([config]));
  const short = `${"a".repeat(1000)}\n… 4000 more characters: the texts of this plan are too large to show all of them`;
  expect(second?.changes[0]?.after).toEqual({ "/x": { text: short, mode: 420 } });
  expect(second?.changes[1]?.after).toBe("short");
  expect(third).toEqual(action([]));
});
