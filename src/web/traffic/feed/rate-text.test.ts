import { expect, test } from "vitest";
import { rateText } from "./rate-text.ts";

test("rates are formatted with a suitable unit", () => {
  expect(rateText({ packets: 1, bits: 784 }, false)).toBe("1.0 packets/s, 784 bit/s");
  expect(rateText({ packets: 12.4, bits: 9_400 }, false)).toBe("12 packets/s, 9.4 kbit/s");
  expect(rateText({ packets: 52_000, bits: 4.4e8 }, true)).toBe("≈ 52000 packets/s, 440 Mbit/s");
  expect(rateText({ packets: 0.3, bits: 0 }, false)).toBe("0.3 packets/s, 0.0 bit/s");
});
