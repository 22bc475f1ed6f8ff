import { expect, test } from "vitest";
import { LinkQualities } from "./quality-live.ts";
import { netemBatch, parseNetem } from "./quality-netem.ts";

const whole = (some: object) => ({ delay: 0, jitter: 0, loss: 0, bandwidth: 0, ...some });

test("netem is on the device that sends to the other endpoint, and the two devices redirect to each other", () => {
  expect(netemBatch(3, { a: whole({ delay: 20.5, jitter: 2 }), b: whole({ loss: 0.5, bandwidth: 10_000 }) }, true).split("\n")).toEqual([
    "qdisc replace dev p3b root handle 1: netem limit 200000 delay 20500us 2000us loss random 0% rate 100000000kbit",
    "qdisc replace dev p3a root handle 1: netem limit 245 delay 0us 0us loss random 0.5% rate 10000kbit",
    "qdisc replace dev p3a clsact",
    "filter replace dev p3a ingress protocol all prio 1 handle 800::800 u32 match u32 0 0 action mirred egress redirect dev p3b",
    "qdisc replace dev p3b clsact",
    "filter replace dev p3b ingress protocol all prio 1 handle 800::800 u32 match u32 0 0 action mirred egress redirect dev p3a",
    "",
  ]);
});

test("a change names every parameter and does not replace the qdisc", () => {
  expect(netemBatch(3, { a: whole({}), b: whole({ bandwidth: 40 }) }, false)).toBe(
    "qdisc change dev p3b root handle 1: netem limit 200000 delay 0us 0us loss random 0% rate 100000000kbit\n" +
      "qdisc change dev p3a root handle 1: netem limit 16 delay 0us 0us loss random 0% rate 40kbit\n",
  );
});

test("the output of tc is parsed: times in seconds, loss as a part of 1, rates in bytes per second", () => {
  const text = JSON.stringify([
    { kind: "noqueue", dev: "lo", root: true },
    {
      kind: "netem",
      dev: "p3b",
      packets: 90,
      drops: 10,
      qlen: 4,
      options: {
        limit: 245,
        // The output of tc for 20.5 and 2.
        delay: { delay: 0.020499, jitter: 0.002, correlation: 0 },
        "loss-random": { loss: 0.005 },
        rate: { rate: 1_250_000 },
      },
    },
    { kind: "netem", dev: "p3a", packets: 1, drops: 0, qlen: 0, options: { limit: 200000, rate: { rate: 12_500_000_000 } } },
    { kind: "netem", dev: "p4a", options: {} },
  ]);
  const asked = { a: { delay: 20.5, jitter: 2, loss: 0.5, bandwidth: 10_000 }, b: whole({}) };
  expect(parseNetem(text, new Map([[3, { mtu: 1500, ...asked }]]))).toEqual(
    new Map([
      [
        3,
        {
          mtu: 1500,
          draining: false,
          ...asked,
          counters: {
            a: { received: 100, sent: 90, lost: 10, overflow: 0, missed: 0, refused: 0, queued: 4 },
            b: { received: 1, sent: 1, lost: 0, overflow: 0, missed: 0, refused: 0, queued: 0 },
          },
        },
      ],
    ]),
  );
  // A quality that was changed by hand is returned as tc reports it.
  for (const other of [{ delay: 20.6 }, { jitter: 2.1 }, { loss: 0.4 }, { bandwidth: 9_999 }]) {
    const wanted = { mtu: 1500, a: { ...asked.a, ...other }, b: asked.b };
    expect(parseNetem(text, new Map([[3, wanted]])).get(3)?.a).toEqual({ ...asked.a, delay: 20.499 });
  }
});

test("after a restart of the service, a quality that tc reports truncated counts as declared, and a live change stays", () => {
  const link = {
    id: 3,
    endpoints: [
      { node: 1, interface: "eth0" },
      { node: 2, interface: "eth0" },
    ],
    quality: { a: { delay: 20.5 } },
  } as const;
  const inForce = (delay: number) => new Map([[3, { a: whole({ delay }), b: whole({}) }]]);
  const now = (delay: number) => {
    const qualities = new LinkQualities();
    qualities.follow([link], inForce(delay));
    return qualities.of(link).a.delay;
  };
  expect([now(20.499), now(20.4), now(0)]).toEqual([20.5, 20.4, 0]);
});
