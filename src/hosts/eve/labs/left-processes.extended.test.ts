import { afterEach, describe, expect, it } from "vitest";
import { type EveBench, eveBench, lab, link, node, operation, pair } from "../eve-bench.fixture.ts";
import { eveHost } from "../host.ts";

let made: EveBench | undefined;

afterEach(async () => {
  const ended = made;
  made = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
});

const bench = async (notices: "hidden" | "visible") => {
  made = await eveBench({ notices });
  return made;
};

const port = (number: number) => 32_768 + number;
const nodes = async ({ session }: EveBench, path: string) =>
  (await session.observe(path))?.nodes.map(({ id, name, power }) => `${id} ${name} ${power}`);

describe.each(["hidden", "visible"] as const)("on a host with notices %s, a number that a process holds", (notices) => {
  it("goes to no node that is added to a lab, and the lab's running nodes keep theirs", async () => {
    const here = await bench(notices);
    await here.make("/pair", pair);
    for (const number of [3, 4, 6]) here.fake.occupyPort(port(number));
    const more = lab({
      ...pair,
      nodes: [...pair.nodes, ...["pc3", "pc4"].map((key) => node(key, "vpcs", { start: false }))],
      links: [...pair.links, link("pc3:eth0", "pc4:eth0")],
    });
    await here.make("/pair", more);
    expect(await nodes(here, "/pair")).toEqual(["1 pc1 running", "2 pc2 running", "5 pc3 stopped", "7 pc4 stopped"]);
    // The owners of the other numbers are still known: a lab with the same numbers does not run them.
    const copy = (here.fake.labFile("/pair.unl") ?? "").replace(/(<lab [^>]*\bid=")[^"]*/, `$1${crypto.randomUUID()}`);
    here.fake.putLabFile("/copy.unl", copy.replace(/(<lab [^>]*\bname=")[^"]*/, "$1copy"));
    expect((await here.session.status("/copy")).nodes.map(({ clash }) => clash?.certain)).toEqual([true, true, undefined, undefined]);
    await here.make("/pair", lab({ ...more, nodes: more.nodes.map((one) => ({ ...one, start: true })) }));
    await here.make("/pair", null);
  });

  it("goes to no node of a new lab, which is imported once: a service that ends right after the import leaves no wrong node", async () => {
    const here = await bench(notices);
    for (const number of [1, 2, 4]) here.fake.occupyPort(port(number));
    const down = lab({ ...pair, nodes: pair.nodes.map((one) => ({ ...one, start: false })) });
    await here.make("/pair", down);
    expect(here.calls().filter((call) => call.includes("/api/import"))).toHaveLength(1);
    // As after a restart: nothing is known of the numbers.
    const restarted = eveHost({ url: here.fake.url, plainHttp: true, warn: () => {} });
    const session = await restarted.login("admin", "eve");
    expect((await session.observe("/pair"))?.nodes.map(({ id, name, power }) => `${id} ${name} ${power}`)).toEqual([
      "3 pc1 stopped",
      "5 pc2 stopped",
    ]);
    await restarted.close();
  });

  it("goes to no node that is the only change of a lab", async () => {
    const here = await bench(notices);
    await here.make("/pair", pair);
    here.fake.occupyPort(port(3));
    await here.make("/pair", { ...pair, nodes: [...pair.nodes, node("pc3", "vpcs", { start: false })] });
    expect(await nodes(here, "/pair")).toEqual(["1 pc1 running", "2 pc2 running", "4 pc3 stopped"]);
  });

  it("goes to no node although processes hold many numbers in a row", async () => {
    const here = await bench(notices);
    await here.make("/pair", pair);
    for (let number = 3; number <= 20; number++) here.fake.occupyPort(port(number));
    await here.make("/pair", { ...pair, nodes: [...pair.nodes, node("pc3", "vpcs", { start: false })] });
    const [, , added] = (await here.session.observe("/pair"))?.nodes ?? [];
    expect(added).toMatchObject({ name: "pc3", power: "stopped" });
    expect(Number(added?.id)).toBeGreaterThan(20);
    await here.make("/second", pair);
    expect(await nodes(here, "/second")).toEqual([expect.stringMatching(/ pc1 running$/), expect.stringMatching(/ pc2 running$/)]);
  });

  it("goes to no node of a lab that is renumbered", async () => {
    const here = await bench(notices);
    await here.make("/pair", pair);
    const copy = (here.fake.labFile("/pair.unl") ?? "").replace(/(<lab [^>]*\bid=")[^"]*/, `$1${crypto.randomUUID()}`);
    here.fake.putLabFile("/copy.unl", copy.replace(/(<lab [^>]*\bname=")[^"]*/, "$1copy"));
    for (const number of [3, 5, 6, 7]) here.fake.occupyPort(port(number));
    const known = { nodes: { pc1: "1", pc2: "2" }, networks: {}, links: {} };
    const renumbered = await here.session.renumber?.("/copy", known);
    expect(await nodes(here, "/copy")).toEqual(renumbered?.nodes.map(({ name, after }) => `${after} ${name} stopped`));
    expect(Object.values(renumbered?.ids.nodes ?? {})).toEqual(renumbered?.nodes.map(({ after }) => String(after)));
    expect(await nodes(here, "/pair")).toEqual(["1 pc1 running", "2 pc2 running"]);
  });

  it("leaves the node unknown if its number cannot be changed", async () => {
    const here = await bench(notices);
    await here.make("/pair", pair);
    const more = lab({ ...pair, nodes: [...pair.nodes, node("pc3", "vpcs", { start: false })] });
    const { operations } = await here.plan("/pair", more);
    // The process starts after the driver has looked at the port.
    here.fake.meanwhile(/POST \/api\/labs\/pair\.unl\/nodes/, () => {
      here.fake.occupyPort(port(3));
      here.fake.breakNext(/POST \/api\/import/, "page before");
    });
    await expect(here.run("/pair", more, operations)).rejects.toMatchObject({ code: "host_error" });
    expect(await nodes(here, "/pair")).toEqual(["1 pc1 running", "2 pc2 running", "3 pc3 unknown"]);
    expect((await here.session.status("/pair")).nodes[2]?.clash).toEqual({ number: 3, certain: true });
  });

  it("is unknown for the node that the session itself has stopped, whose lab is renumbered at once", async () => {
    const here = await bench(notices);
    await here.make("/pair", pair);
    const down = lab({ ...pair, nodes: pair.nodes.map((one) => ({ ...one, start: one.key === "pc1" })) });
    await here.make("/pair", down);
    here.fake.occupyPort(port(2));
    const { nodes: seen } = await here.session.status("/pair");
    expect(seen.map(({ status, clash }) => [status, clash])).toEqual([
      ["running", undefined],
      ["unknown", { number: 2, certain: true }],
    ]);
    await expect(here.run("/pair", pair, [operation({ do: "start", node: "pc2" })])).rejects.toMatchObject({
      code: "number_clash",
      message: expect.stringMatching(/number 2 of the host is in use.*labwright renumber/),
    });
    await here.make("/pair", lab({ ...down, nodes: down.nodes.map((one) => ({ ...one, start: false })) }));
    const known = { nodes: { pc1: "1", pc2: "2" }, networks: {}, links: {} };
    expect((await here.session.renumber?.("/pair", known))?.ids.nodes).toEqual({ pc1: "1", pc2: "3" });
    here.fake.freePort(port(2));
    expect(await nodes(here, "/pair")).toEqual(["1 pc1 stopped", "3 pc2 stopped"]);
  });

  it("refuses the start of a stopped node with the console port and the next step, even if the session never ran the node", async () => {
    const here = await bench(notices);
    const down = lab({ ...pair, nodes: pair.nodes.map((one) => ({ ...one, start: false })) });
    await here.make("/pair", down);
    expect(await nodes(here, "/pair")).toEqual(["1 pc1 stopped", "2 pc2 stopped"]);
    here.fake.occupyPort(port(2));
    expect(await nodes(here, "/pair")).toEqual(["1 pc1 stopped", "2 pc2 unknown"]);
    const starts = ["pc1", "pc2"].map((key) => operation({ do: "start", node: key }));
    await expect(here.run("/pair", pair, starts)).rejects.toMatchObject({
      code: "number_clash",
      message: expect.stringMatching(
        /^node pc2 cannot start: another program listens on its console port 32770: number 2 of the host is in use.*labwright renumber.*labwright destroy --force/,
      ),
      data: { failures: [{ id: "start:pc2" }] },
    });
    expect(await nodes(here, "/pair")).toEqual(["1 pc1 running", "2 pc2 unknown"]);
    const up = lab({ ...pair, nodes: pair.nodes.map((one) => ({ ...one, start: true })) });
    expect((await here.plan("/pair", up)).blocked).toMatchObject([{ key: "pc2", reason: { code: "number_clash" } }]);
    here.fake.freePort(port(2));
    await here.make("/pair", up);
  });

  it("does not make a node unknown whose start timed out and ended later", async () => {
    const here = await bench(notices);
    const down = lab({ ...pair, nodes: pair.nodes.map((one) => ({ ...one, start: false })) });
    await here.make("/pair", down);
    for (let times = 0; times < 2; times++) here.fake.failNextStart({ code: 0, node: 2 });
    const started = here.run("/pair", pair, [operation({ do: "start", node: "pc2" })]);
    await expect(started).rejects.toMatchObject({ code: "host_error" });
    expect(await nodes(here, "/pair")).toEqual(["1 pc1 stopped", "2 pc2 stopped"]);
    // The process comes up after all.
    here.fake.occupyPort(port(2));
    expect(await nodes(here, "/pair")).toEqual(["1 pc1 stopped", "2 pc2 running"]);
  });

  it("is free for its lab again once the process is gone", async () => {
    const here = await bench(notices);
    await here.make("/pair", pair);
    await here.make("/pair", lab({ ...pair, nodes: pair.nodes.map((one) => ({ ...one, start: false })) }));
    here.fake.occupyPort(port(2));
    expect(await nodes(here, "/pair")).toEqual(["1 pc1 stopped", "2 pc2 unknown"]);
    here.fake.freePort(port(2));
    expect(await nodes(here, "/pair")).toEqual(["1 pc1 stopped", "2 pc2 stopped"]);
    await here.make("/pair", pair);
  });
});
