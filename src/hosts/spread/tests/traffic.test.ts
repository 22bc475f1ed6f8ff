import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { HostSession } from "../../host.ts";
import { readTraffic, serveTraffic } from "../traffic.ts";

test("packets that a slow machine does not read take no memory, and are reported as lost", async () => {
  const count = 20_000;
  let finish: (() => void) | undefined;
  const watch: NonNullable<HostSession["traffic"]>["watch"] = async (_path, _link, listener) => {
    for (let at = 0; at < count; at++)
      listener.packet({ high: 0, low: at, length: 1_300, data: new Uint8Array(1_300) } as never, at % 2 === 0 ? 0 : 1);
    listener.dropped(7);
    await new Promise<void>((resolve) => (finish = resolve));
  };
  const session = { traffic: { watch } } as unknown as HostSession;
  const out = serveTraffic(session, "/lab", "1", new AbortController().signal);
  await delay(10);
  expect(out.readableLength).toBeGreaterThan(200_000);
  expect(out.readableLength).toBeLessThan(600_000);
  const seen: number[] = [];
  let dropped = 0;
  finish!();
  // The rest is read before the end.
  await readTraffic(out, {
    packet: ({ data, length }, from) => seen.push(data.length + length + from),
    dropped: (more) => (dropped += more),
  });
  expect(seen.slice(0, 4)).toEqual([2_600, 2_601, 2_600, 2_601]);
  expect(seen.length + dropped).toBe(count + 7);
});
