import { expect, test } from "vitest";
import { rateWords } from "./rate-text.ts";

test("rates are told with a unit that suits them", () => {
  expect(rateWords({ packets: 1, bits: 784 }, false)).toBe("1.0 packets/s, 784 bit/s");
  expect(rateWords({ packets: 12.4, bits: 9_400 }, false)).toBe("12 packets/s, 9.4 kbit/s");
  expect(rateWords({ packets: 52_000, bits: 4.4e8 }, true)).toBe("≈ 52000 packets/s, 440 Mbit/s");
  expect(rateWords({ packets: 0.3, bits: 0 }, false)).toBe("0.3 packets/s, 0.0 bit/s");
});
