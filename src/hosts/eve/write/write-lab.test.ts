import { afterEach, describe, expect, it } from "vitest";
import { type EveBench, eveBench, lab, link, node, operation, pair } from "../eve-bench.fixture.ts";

let bench: EveBench | undefined;

afterEach(async () => {
  const ended = bench;
  bench = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
});

describe.each(["ce5", "ce6", "pro"] as const)("on %s", (edition) => {
  it("what the host made of a change is compared with what was wanted, field by field", async () => {
    bench = await eveBench({ edition });
    await bench.make("/pair", pair);
    const { id } = (await bench.session.observe("/pair"))?.nodes[0] ?? { id: "" };
    const wanted = { ...pair, nodes: pair.nodes.map((one) => (one.key === "pc1" ? { ...one, icon: "Not there.png" } : one)) };
    const { operations } = await bench.plan("/pair", wanted);
    await expect(bench.run("/pair", wanted, operations)).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringContaining(`node ${id} icon: wanted "Not there.png", the host has`),
      data: { differences: [{ field: `node ${id} icon`, wanted: "Not there.png", got: expect.any(String) }], failed: operations[0]?.id },
    });
  });
});

it("a lab that the host does not export keeps its pictures through a change of many parts", async () => {
  bench = await eveBench({ edition: "ce5" });
  const { fake, make } = bench;
  await make("/pair", pair);
  const picture = '<picture id="1" name="map" type="image/png" width="1" height="1"><data>aGk=</data></picture>';
  const drawn = (fake.labFile("/pair.unl") ?? "").replace("</lab>", `<objects><pictures>${picture}</pictures></objects></lab>`);
  fake.putLabFile("/pair.unl", drawn);
  const more = { ...pair, nodes: [...pair.nodes, ...["a", "b", "c", "d", "e", "f"].map((key) => node(key, "vpcs", { start: false }))] };
  const { operations } = await bench.plan("/pair", more);
  for (let times = 0; times < 10; times++) fake.failNextExport();
  await bench.run("/pair", more, operations);
  expect(fake.labFile("/pair.unl")).toContain("aGk=");
  expect(fake.labFile("/pair.unl")).toContain('name="f"');
});

describe.each(["ce5", "pro", "pnetlab"] as const)("on %s", (edition) => {
  it("changes of one lab that come at once are made one after another", async () => {
    bench = await eveBench({ edition, latency: { save: 5, call: 1 } });
    const { run, session } = bench;
    await bench.make("/pair", pair);
    const keys = ["a", "b", "c", "d", "e"];
    await Promise.all(
      keys.map((key) => run("/pair", pair, [operation({ do: "create-node", node: node(key, "vpcs", { position: { x: 1, y: 2 } }) })])),
    );
    const names = (await session.observe("/pair"))?.nodes.map(({ name }) => name).sort();
    expect(names).toEqual([...keys, "pc1", "pc2"]);
  });

  it("a node that goes is stopped, seen to be down, and wiped before", async () => {
    bench = await eveBench({ edition, latency: { exit: 20 } });
    await bench.make("/pair", pair);
    bench.calls();
    await bench.make("/pair", { ...pair, nodes: pair.nodes.slice(0, 1), links: [] });
    const heard = bench.calls();
    const at = (pattern: RegExp) => heard.findIndex((call) => pattern.test(call));
    const stop = at(/nodes\/(\d+\/)?stop/);
    const wipe = at(/nodes\/(\d+\/)?wipe/);
    const gone = at(/^POST \/api\/import|^DELETE .*\/nodes\/\d+|nodes\/delete/);
    const looks = heard.slice(stop, wipe).filter((call) => /^GET .*(\/nodes|\/topology)$/.test(call));
    expect([stop >= 0, stop < wipe, wipe < gone, looks.length > 0]).toEqual([true, true, true, true]);
    expect(bench.fake.running().map(({ name, orphan }) => ({ name, orphan }))).toEqual([{ name: "pc1", orphan: false }]);
  });
});

describe.each(["pro", "pnetlab"] as const)("on %s, whose files hold more than is known here", (edition) => {
  it("unmanaged parts stay, with any change beside them", async () => {
    bench = await eveBench({ edition });
    const { fake, make } = bench;
    await make("/pair", pair);
    const more = (text: string) =>
      text
        .replace("<lab ", '<lab countdown="17" ')
        .replace(/<node (?=[^>]*name="pc1")/, '<node sat="2" ')
        .replace(/<interface /, '<interface linkstyle="Straight" color="#3e7089" ')
        .replace("</lab>", '<workbooks><workbook id="w" type="html" weight="1"></workbook></workbooks></lab>');
    fake.putLabFile("/pair.unl", more(fake.labFile("/pair.unl") ?? ""));
    const grown = lab({
      ...pair,
      description: "grown",
      nodes: [...pair.nodes, node("pc3", "vpcs"), node("pc4", "vpcs")],
      links: [...pair.links, link("pc3:eth0", "pc4:eth0")],
      texts: [{ text: "x", x: 1, y: 2 }],
    });
    await make("/pair", grown);
    await make("/pair", { ...grown, nodes: grown.nodes.filter(({ key }) => key !== "pc4"), links: pair.links });
    const file = fake.labFile("/pair.unl") ?? "";
    for (const kept of ['countdown="17"', 'sat="2"', 'linkstyle="Straight"', 'color="#3e7089"', '<workbook id="w"'])
      expect(file).toContain(kept);
  });
});
