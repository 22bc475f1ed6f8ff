import { expect, test } from "vitest";
import { createBench, failureOf } from "../service.fixture.ts";

const yaml = `name: pair
nodes:
  r1: {template: linux}
  r2: {template: linux}
networks:
  lan: {type: bridge}
links:
  - {endpoints: ["r1:eth0", "r2:eth0"], quality: {a: {delay: 5}}}
  - ["r1:eth1", "lan"]
`;
const straight: [string, string] = ["r1:eth0", "r2:eth0"];
const turned: [string, string] = ["r2:eth0", "r1:eth0"];
const whole = (some: object) => ({ delay: 0, jitter: 0, loss: 0, bandwidth: 0, ...some });

async function deployed() {
  const bench = createBench();
  const ann = await bench.login();
  await ann.call("deployProject", { yaml });
  return { bench, ann, lab: "/pair" };
}

test("a live quality is shown as stored and as measured, in the order of the caller's endpoints", async () => {
  const { ann, lab } = await deployed();
  expect(await ann.call("applyLinkQuality", { lab, endpoints: turned, a: { loss: 2 } })).toEqual({
    lab,
    link: "r1:eth0 -- r2:eth0",
    endpoints: turned,
    stored: { b: { delay: 5 } },
    effective: { a: whole({ loss: 2 }) },
    saved: false,
  });
  const { live } = await ann.call("getProjectStatus", { lab });
  expect(live?.netem).toEqual([{ link: "r1:eth0 -- r2:eth0", endpoints: straight, b: whole({ loss: 2 }) }]);
  expect((await ann.call("planProject", { lab })).actions).toEqual([]);
});

test("a saved quality persists, and the plan shows its difference from the intent", async () => {
  const { ann, lab } = await deployed();
  const saved = await ann.call("applyLinkQuality", { lab, endpoints: straight, b: { bandwidth: 1000 }, save: true });
  expect(saved).toMatchObject({ stored: { b: { bandwidth: 1000 } }, effective: { b: whole({ bandwidth: 1000 }) }, saved: true });
  const { actions } = await ann.call("planProject", { lab });
  expect((actions ?? []).flatMap(({ changes }) => changes.map(({ field }) => field)).sort()).toEqual([
    "quality.a.delay",
    "quality.b.bandwidth",
  ]);
  const { links } = await ann.call("inspectProject", { lab });
  expect(links.find(({ kind }) => kind === "p2p")).toMatchObject({ stored_quality: { b: { bandwidth: 1000 } } });
});

test("one side or both are suspended and resumed", async () => {
  const { ann, lab } = await deployed();
  expect(await ann.call("setLinkSuspend", { lab, endpoints: turned, suspended: true, side: "a" })).toEqual({
    lab,
    link: "r1:eth0 -- r2:eth0",
    suspended: { a: true, b: false },
  });
  const { nodes } = await ann.call("inspectProject", { lab });
  const suspended = (name: string) => nodes.find(({ node }) => node === name)?.interfaces[0]?.suspended;
  expect([suspended("r1"), suspended("r2")]).toEqual([false, true]);
  const suspend = (endpoints: [string, string], how: object) => ann.call("setLinkSuspend", { lab, endpoints, suspended: true, ...how });
  expect(await suspend(straight, {})).toMatchObject({ suspended: { a: true, b: true } });
  expect(await suspend(straight, { suspended: false })).toMatchObject({ suspended: { a: false, b: false } });
  expect(await suspend(["r1:eth1", "lan"], { side: "a" })).toMatchObject({ suspended: { a: true } });
  const network = ann.call("setLinkSuspend", { lab, endpoints: ["r1:eth1", "lan"], suspended: true, side: "b" });
  expect((await failureOf(network)).code).toBe("bad_request");
});

test("unknown links, locked labs, labs of other users, and viewers are refused", async () => {
  const { bench, ann, lab } = await deployed();
  const quality = (client: typeof ann, endpoints = straight) =>
    failureOf(client.call("applyLinkQuality", { lab, endpoints, a: { delay: 1 } }));
  expect((await quality(ann, ["r1:eth0", "r2:eth7"])).code).toBe("link_not_found");
  expect((await quality(await bench.login("bob"))).code).toBe("lab_not_found");
  expect((await quality(await bench.login("eve"))).code).toBe("operation_not_allowed");
  const host = await bench.host.login("admin", "admin");
  await host.setLock(lab, true);
  expect((await quality(ann)).code).toBe("lab_locked");
  expect((await failureOf(ann.call("setLinkSuspend", { lab, endpoints: straight, suspended: true }))).code).toBe("lab_locked");
});
