import { expect, test } from "vitest";
import type { TrafficPacket } from "../traffic/feed/traffic-packet.ts";
import { EchoTimes } from "./echo-times.ts";

const start = Date.parse("2026-01-01T00:00:00.000Z");

/** @param ms after the start, with a fraction */
function packet(ms: number, ends: "a>b" | "b>a", summary: string): TrafficPacket {
  const whole = Math.floor(ms);
  const at = `${new Date(start + whole).toISOString().slice(0, -1)}${String(Math.round((ms - whole) * 1000)).padStart(3, "0")}Z`;
  const [from, to] = ends === "a>b" ? ["a:eth0", "b:eth0"] : ["b:eth0", "a:eth0"];
  return { at, link: "a:eth0 -- b:eth0", from: from!, to: to!, length: 98, protocols: ["eth", "ip", "icmp"], summary, filter: null };
}

/** Adds a packet at the page's time, which is an hour behind the host's. */
function add(times: EchoTimes, ...given: Parameters<typeof packet>): void {
  times.add(packet(...given), start + given[0] - 3_600_000);
}

test("the round trip of a ping is the time from the request that leaves the watched end to its answer", () => {
  const times = new EchoTimes("a:eth0");
  add(times, 0, "a>b", "10.0.0.1 → 10.0.0.2 ICMP echo request id 7 seq 1");
  add(times, 10, "a>b", "10.0.0.1 → 10.0.0.2 ICMP echo request id 7 seq 2");
  add(times, 40.25, "b>a", "10.0.0.2 → 10.0.0.1 ICMP echo reply id 7 seq 1");
  add(times, 41, "b>a", "10.0.0.9 → 10.0.0.1 ICMP echo reply id 7 seq 2");
  const [first, second] = times.times(start - 3_600_000);
  expect(first!.ms).toBeCloseTo(40.25, 3);
  expect(second).toEqual({ at: start + 10 - 3_600_000, ms: undefined });
});

test("requests from the far end are not measured, because they arrive after they crossed the link", () => {
  const times = new EchoTimes("a:eth0");
  add(times, 0, "b>a", "10.0.0.2 → 10.0.0.1 ICMP echo request id 7 seq 1");
  add(times, 1, "a>b", "10.0.0.1 → 10.0.0.2 ICMP echo reply id 7 seq 1");
  expect(times.times(start - 3_600_000)).toEqual([]);
});

test("older requests are forgotten, and IPv6 is measured, too", () => {
  const times = new EchoTimes("a:eth0");
  add(times, 0, "a>b", "10.0.0.1 → 10.0.0.2 ICMP echo request id 7 seq 1");
  add(times, 5_000, "a>b", "fd00::1 → fd00::2 ICMPv6 echo request id 7 seq 1");
  add(times, 5_002, "b>a", "fd00::2 → fd00::1 ICMPv6 echo reply id 7 seq 1");
  expect(times.times(start + 1_000 - 3_600_000)).toEqual([{ at: start + 5_000 - 3_600_000, ms: 2 }]);
});
