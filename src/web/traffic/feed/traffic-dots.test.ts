import { expect, test } from "vitest";
import { TrafficDots, travelMs } from "./traffic-dots.ts";

const ping = { link: "a:eth0 -- b:eth0", from: "a:eth0", kind: "pings" };

test("a packet is drawn until it has arrived", () => {
  const dots = new TrafficDots();
  expect(dots.add(ping, 1_000)).toBe(true);
  expect(dots.at(1_000 + travelMs - 1)).toEqual([{ ...ping, begun: 1_000 }]);
  expect(dots.at(1_000 + travelMs)).toEqual([]);
});

test("the number of drawn packets is limited, per kind and direction and in total", () => {
  const dots = new TrafficDots();
  for (let at = 0; at < 700; at++) dots.add(ping, 1_000 + at);
  expect(dots.at(1_700)).toHaveLength(10);
  expect(dots.add({ ...ping, from: "b:eth0" }, 1_700)).toBe(true);
  expect(dots.add({ ...ping, kind: "other" }, 1_700)).toBe(true);
  for (let link = 0; link < 2_000; link++) dots.add({ ...ping, link: String(link) }, 1_700);
  expect(dots.at(1_700)).toHaveLength(600);
  dots.clear();
  expect(dots.at(1_700)).toEqual([]);
});
