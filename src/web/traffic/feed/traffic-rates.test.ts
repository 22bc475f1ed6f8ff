import { expect, test } from "vitest";
import type { TrafficPacket } from "./traffic-packet.ts";
import { TrafficRates } from "./traffic-rates.ts";

const packet = (from: string, length = 125): TrafficPacket => ({
  at: "2026-01-01T00:00:00.000000Z",
  link: "a:eth0 -- b:eth0",
  from,
  to: from === "a:eth0" ? "b:eth0" : "a:eth0",
  length,
  protocols: [],
  summary: `from ${from}`,
  filter: null,
});

test("rates are computed by link, direction and kind", () => {
  const rates = new TrafficRates();
  for (let i = 0; i < 4; i++) rates.add(packet("a:eth0"), "pings");
  rates.add(packet("b:eth0", 1000), "pings");
  rates.add(packet("a:eth0"));
  expect(rates.endInterval(1000)).toEqual([
    { link: "a:eth0 -- b:eth0", from: "a:eth0", to: "b:eth0", kind: "", packets: 1, bits: 1000, last: "from a:eth0" },
    { link: "a:eth0 -- b:eth0", from: "a:eth0", to: "b:eth0", kind: "pings", packets: 4, bits: 4000, last: "from a:eth0" },
    { link: "a:eth0 -- b:eth0", from: "b:eth0", to: "a:eth0", kind: "pings", packets: 1, bits: 8000, last: "from b:eth0" },
  ]);
  expect(rates.estimated).toBe(false);
});

test("a rate is the average of three intervals, and disappears after them", () => {
  const rates = new TrafficRates();
  for (let i = 0; i < 6; i++) rates.add(packet("a:eth0"), "pings");
  const packetsOf = () => rates.endInterval(1000).map(({ packets }) => packets);
  expect(packetsOf()).toEqual([6]);
  expect(packetsOf()).toEqual([3]);
  expect(packetsOf()).toEqual([2]);
  expect(packetsOf()).toEqual([]);
});

test("the rates of a sample are scaled up to the packets that were seen", () => {
  const rates = new TrafficRates();
  for (let i = 0; i < 100; i++) rates.add(packet("a:eth0"), "pings");
  rates.sampled({ seen: 5000, told: 100, dropped: 0 });
  expect(rates.endInterval(1000).map(({ packets }) => packets)).toEqual([5000]);
  expect(rates.estimated).toBe(true);
  for (let i = 0; i < 3; i++) rates.endInterval(1000);
  expect(rates.estimated).toBe(false);
});
