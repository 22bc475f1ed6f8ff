import fc from "fast-check";
import { expect, test } from "vitest";
import { ipv6Number, ipv6Subnet, ipv6Text, overlap6, subnet6Text } from "./ipv6.ts";

test("every address is read from its own notation, which is the shortest, as in URLs", () => {
  const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 65_535 }));
  fc.assert(
    fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
      const whole = groups.map((one) => one.toString(16)).join(":");
      const address = ipv6Number(whole)!;
      expect(`[${ipv6Text(address)}]`).toBe(new URL(`http://[${whole}]`).hostname);
      expect(ipv6Number(ipv6Text(address))).toBe(address);
    }),
  );
});

test("other texts are no addresses", () => {
  for (const text of [
    "",
    ":",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::8",
    "12345::",
    "::1.2.3.4",
    "fd00::g",
    "fd00::1%eth0",
  ])
    expect([text, ipv6Number(text)]).toEqual([text, undefined]);
});

test("a management network has 64 to 96 bits and no bits behind them; networks overlap if one contains the other", () => {
  for (const text of ["fd00::/63", "fd00::/97", "fd00::1/64", "fd00::", "10.0.0.0/24"])
    expect([text, ipv6Subnet(text)]).toEqual([text, undefined]);
  expect(subnet6Text(ipv6Subnet("FD00:0:0:1::0/64")!)).toBe("fd00:0:0:1::/64");
  expect(overlap6(ipv6Subnet("fd00::/64")!, ipv6Subnet("fd00::/80")!)).toBe(true);
  expect(overlap6(ipv6Subnet("fd00::1:0:0:0/80")!, ipv6Subnet("fd00::/64")!)).toBe(true);
  expect(overlap6(ipv6Subnet("fd00:0:0:1::/64")!, ipv6Subnet("fd00::/64")!)).toBe(false);
});
