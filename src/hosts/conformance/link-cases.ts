import { expect } from "vitest";
import type { Quality } from "../../intent/lab/lab.ts";
import type { Cases } from "./bench.ts";
import { byKey, link, twoHosts } from "./labs.ts";
import { expectFailure, operation } from "./tools.ts";

/** Links, their quality and captures. */
export const linkCases: Cases = {
  "links come, change and go between running nodes": async (bench) => {
    const at = bench.path();
    const { features } = await bench.session.capabilities();
    await bench.make(at, twoHosts);
    const second = link("h1:eth1", "h2:eth1");
    const more = { ...twoHosts, links: byKey([...twoHosts.links, second]) };
    await bench.make(at, more);
    const { links: made } = await bench.observe(at);
    for (const { id, endpoints } of made) {
      const [a, b] = endpoints;
      // Absent if it would cost about as much as observe.
      expect((await bench.session.findLink?.(at, [b, a]))?.id ?? id).toBe(id);
      expect(await bench.session.findLink?.(at, [a, a])).toBeUndefined();
    }
    if (features.linkQuality) {
      const shaped = {
        ...more,
        links: more.links.map((one) => (one.key === second.key ? { ...one, quality: { a: { delay: 20 }, b: { loss: 1 } } } : one)),
      };
      await bench.make(at, shaped);
      const observed = await bench.observe(at);
      expect(observed.links.filter(({ quality }) => quality !== undefined)).toHaveLength(1);
      const { links } = await bench.session.status(at);
      expect(links).toHaveLength(1);
      expect(links[0]).toMatchObject({ a: { delay: 20 }, b: { loss: 1 } });
      await bench.make(at, more);
      expect((await bench.session.status(at)).links).toEqual([]);
    }
    if (features.linkSuspend) {
      await bench.make(at, { ...more, links: more.links.map((one) => ({ ...one, suspended: { a: true, b: false } })) });
      await bench.make(at, more);
    }
    const moved = { ...twoHosts, links: byKey([link("h1:eth0", "h2:eth1")]) };
    await bench.make(at, moved);
    await bench.make(at, { ...twoHosts, links: [] });
    expect((await bench.observe(at)).links).toEqual([]);
    for (const { key } of twoHosts.nodes) await bench.power(at, key, ["running"]);
  },

  "a link's quality changes live and declared, and both the stored and the live quality are reported": async (bench) => {
    const { linkQuality, lock } = (await bench.session.capabilities()).features;
    if (!linkQuality) return;
    const at = bench.path();
    const { session } = bench;
    const declared = { ...twoHosts, links: twoHosts.links.map((one) => ({ ...one, quality: { a: { delay: 5 } } })) };
    await bench.make(at, declared);
    const id = (await bench.observe(at)).links[0]?.id ?? "";
    const whole = (some: Quality) => ({ delay: 0, jitter: 0, loss: 0, bandwidth: 0, ...some });
    const live = await session.setLinkQuality(at, id, { b: { delay: 20, jitter: 2, loss: 0.5, bandwidth: 10000 } }, { save: false });
    expect(live).toEqual({ stored: { a: { delay: 5 } }, effective: { b: whole({ delay: 20, jitter: 2, loss: 0.5, bandwidth: 10000 }) } });
    expect((await session.status(at)).links).toEqual([{ id, ...live.effective }]);
    await bench.expectNothingToDo(at, declared);
    expect(await session.setLinkQuality(at, id, {}, { save: false })).toEqual({ stored: { a: { delay: 5 } }, effective: {} });
    expect((await session.status(at)).links).toEqual([]);

    const saved = await session.setLinkQuality(at, id, { a: { loss: 3, delay: 0 } }, { save: true });
    expect(saved).toEqual({ stored: { a: { loss: 3 } }, effective: { a: whole({ loss: 3 }) } });
    expect((await bench.observe(at)).links[0]?.quality).toEqual({ a: { loss: 3 } });
    await bench.run(at, [operation({ do: "stop", node: "h2", mode: 1 })]);
    expect((await session.status(at)).links).toEqual([]);
    await bench.run(at, [operation({ do: "start", node: "h2" })]);
    await bench.power(at, "h2", ["running"]);
    expect((await session.status(at)).links).toEqual([{ id, a: whole({ loss: 3 }) }]);
    expect(await session.setLinkQuality(at, id, {}, { save: true })).toEqual({ stored: {}, effective: {} });
    expect((await bench.observe(at)).links[0]?.quality).toBeUndefined();

    await expectFailure(session.setLinkQuality(at, "no-such-id", {}, { save: true }), "link_not_found");
    await expectFailure(session.setLinkQuality(bench.path(), id, {}, { save: true }), "lab_not_found");
    if (!lock) return;
    await session.setLock(at, true);
    await expectFailure(session.setLinkQuality(at, id, { a: { delay: 1 } }, { save: true }), "lab_locked");
    await session.setLock(at, false);
  },

  "a link is suspended at one side or both, and resumed": async (bench) => {
    if (!(await bench.session.capabilities()).features.linkSuspend) return;
    const at = bench.path();
    const { session } = bench;
    await bench.make(at, twoHosts);
    const id = (await bench.observe(at)).links[0]?.id ?? "";
    expect(await session.setLinkSuspend(at, id, { b: true })).toEqual({ a: false, b: true });
    expect((await bench.observe(at)).links[0]?.suspended).toEqual({ a: false, b: true });
    expect(await session.setLinkSuspend(at, id, { a: true })).toEqual({ a: true, b: true });
    expect(await session.setLinkSuspend(at, id, { a: false, b: false })).toEqual({ a: false, b: false });
    await bench.expectNothingToDo(at, twoHosts);
    await expectFailure(session.setLinkSuspend(at, "no-such-id", { a: true }), "link_not_found");
  },

  "captures run if the host has them, are reported correctly and end": async ({ session, path, make, node: nodeOf, power }) => {
    const { features } = await session.capabilities();
    if (!features.capture) return;
    const captures = session.captures;
    if (captures === undefined) throw new Error("the capabilities have captures, the session has not");
    const at = path();
    await expectFailure(captures.list(at), "lab_not_found");
    await make(at, twoHosts);
    await power(at, "h1", ["running"]);
    expect(await captures.list(at)).toEqual([]);
    const nodeId = (await nodeOf(at, "h1")).id;
    const request = { nodeId, interface: "eth0", label: "h1:eth0" };
    await expectFailure(captures.start(at, { ...request, nodeId: "999" }), "node_not_found");
    await expectFailure(captures.start(at, { ...request, interface: "eth99" }), "bad_request");
    await expectFailure(captures.start(at, { ...request, filter: "no such filter" }), "bad_request");
    const started = await captures.start(at, { ...request, filter: "icmp" });
    expect(started).toMatchObject({ ...request, filter: "icmp", status: "running", truncated: false });
    expect((await captures.list(at)).map(({ id }) => id)).toEqual([started.id]);
    const stopped = await captures.stop(at, started.id);
    expect(stopped).toMatchObject({ id: started.id, status: "stopped", stoppedAt: expect.any(Number), expiresAt: expect.any(Number) });
    expect(await captures.stop(at, started.id)).toEqual(stopped);
    const parts: Uint8Array[] = [];
    for await (const part of captures.read(at, started.id, { follow: true })) parts.push(part);
    // A section header, little endian: valid pcapng although no packet was captured.
    expect([...(parts[0] ?? [])].slice(0, 4)).toEqual([0x0a, 0x0d, 0x0d, 0x0a]);
    await captures.remove(at, started.id);
    await expectFailure(captures.get(at, started.id), "capture_not_found");
    expect(await captures.list(at)).toEqual([]);
  },
};
