import { expect, it } from "vitest";
import { leaseText } from "./lease-text.ts";

const now = Date.UTC(2026, 0, 1);
const at = (ms: number) => new Date(now + ms).toISOString();

it("a lease is shown with the time that is left", () => {
  expect(leaseText({ at_end: "stop", ends_at: at(5_400_000), reason: "time" }, now)).toBe("stops in 1h30m");
  expect(leaseText({ at_end: "destroy", ends_at: at(59_000), reason: "idle" }, now)).toBe("is destroyed in 1m if unused");
  expect(leaseText({ at_end: "stop", ends_at: at(-1), reason: "time" }, now)).toBe("stops now");
  expect(leaseText({ at_end: "stop", ended_at: at(0) }, now)).toBe("stopped 2026-01-01T00:00:00.000Z");
});
