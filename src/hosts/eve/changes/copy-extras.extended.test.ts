import { describe, expect, it } from "vitest";
import type { CopiedExtra } from "../../host.ts";
import { type EveBench, eveBench, lab, link, node } from "../eve-bench.fixture.ts";
import { readUnl, type UnlLab, writeUnl } from "../lab-file/unl.ts";

const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64");
const place = 'style="position:absolute; left: 10px; top: 20px; color: red"';
const shape = `<div id="customShape7" class="customShape" data-path="7" ${place}><svg><rect width="9"/></svg></div>`;
const styled = `<div id="customText3" class="customShape customText" data-path="3" ${place}><p><b>Core &amp; edge</b></p></div>`;
const hotspot = "<area shape='circle' alt='a' coords='5,5,3' href='telnet://{{IP}}:{{NODE2}}'>";
const author = `a&b<c>d"e'f ü € 😀`;
const tasks = "# Task 1\n\nConnect **a & b** <now>";

const definition = lab({
  nodes: [node("a", "vpcs"), node("b", "vpcs")],
  networks: [{ key: "lan", name: "lan", type: "bridge", position: { x: 3, y: 3 } }],
  links: [link("a:eth0", "lan")],
  texts: [{ text: "plain", x: 1, y: 2 }],
});

/** The source has everything that EVE-NG's pages can add to a lab. */
function drawn(file: string): UnlLab {
  const made = readUnl(file);
  return {
    ...made,
    author,
    body: tasks,
    version: "3",
    scripttimeout: 900,
    textObjects: [
      ...made.textObjects,
      { id: 3, name: "styled", type: "text", data: base64(styled) },
      { id: 7, name: "box", type: "shape", data: base64(shape) },
      { id: 8, name: "c", type: "custom", data: "not base64 <b>" },
    ],
    pictures: [
      { id: 1, name: "map & ü", type: "image/png", width: 4, height: 2, data: base64("png"), map: hotspot },
      { id: 2, name: "plan", type: "image/png", width: 4, height: 2, data: base64("png2"), map: "" },
    ],
    configs: [{ id: 2, text: "# saved & not used\n" }],
  };
}

/** Copies the source's definition, with other numbers, as the service does. Then copies the extras. */
async function copied(
  bench: EveBench,
  configs = true,
): Promise<{ readonly lines: readonly CopiedExtra[]; readonly again: readonly CopiedExtra[] }> {
  await bench.make("/source", definition);
  bench.fake.putLabFile("/source.unl", writeUnl(drawn(bench.fake.labFile("/source.unl") ?? "")));
  const wanted = await bench.capture("/source");
  await bench.make("/copy", wanted);
  const ids = async (path: string) => {
    const observed = await bench.session.observe(path);
    const byName = (things: readonly { id: string; name: string }[] = []) => Object.fromEntries(things.map(({ id, name }) => [name, id]));
    return { nodes: byName(observed?.nodes), networks: byName(observed?.networks), links: {} };
  };
  const pair = { from: await ids("/source"), to: await ids("/copy"), configs };
  const before = bench.fake.labFile("/source.unl");
  const lines = (await bench.session.copyExtras?.("/source", "/copy", pair)) ?? [];
  const once = bench.fake.labFile("/copy.unl");
  const again = (await bench.session.copyExtras?.("/source", "/copy", pair)) ?? [];
  expect(bench.fake.labFile("/copy.unl")).toBe(once);
  expect(bench.fake.labFile("/source.unl")).toBe(before);
  for (const x of [1, 2, 3]) {
    // Each is a save, and none of them changes the copied parts.
    await bench.make("/copy", { ...wanted, nodes: wanted.nodes.map((one) => (one.key === "a" ? { ...one, position: { x, y: x } } : one)) });
    expect(await bench.session.copyExtras?.("/source", "/copy", pair)).toEqual(lines);
  }
  await bench.make("/copy", wanted);
  expect((await bench.plan("/copy", wanted)).actions).toEqual([]);
  return { lines, again };
}

const summaries = (lines: readonly CopiedExtra[]) =>
  lines.map(({ level, message, node: at }) => [level, message, ...(at === undefined ? [] : [at])]);

const keptEverywhere = [
  ["kept", "the author"],
  ["kept", "the version"],
  ["kept", "the script timeout"],
  ["kept", "the tasks"],
  ["kept", "2 shapes"],
  ["kept", "the look of 1 text"],
];
const spare = ["kept", "a startup config that is not in use", "b"];

describe.each(["visible", "hidden"] as const)("a copy on EVE-NG Community, PHP's notices %s", (notices) => {
  it.each(["ce5", "ce6"] as const)("has everything that the source has beyond its definition, on %s", async (edition) => {
    await using bench = await eveBench({ edition, notices });
    const { lines, again } = await copied(bench);
    expect(summaries(lines)).toEqual([
      ...keptEverywhere,
      ["mapped", 'the picture "map & ü": its hotspots open the copy\'s nodes'],
      ["kept", 'the picture "plan"'],
      spare,
    ]);
    expect(again).toEqual(lines);
    const copy = readUnl(bench.fake.labFile("/copy.unl") ?? "");
    expect([copy.body, copy.version, copy.scripttimeout]).toEqual([tasks, "3", 900]);
    const b = copy.nodes.find(({ name }) => name === "b")?.id;
    expect(b).not.toBe(2);
    expect(copy.pictures.map(({ map }) => map)).toEqual([hotspot.replace("NODE2", `NODE${b}`), ""]);
    expect(copy.configs).toEqual([{ id: b, text: "# saved & not used\n" }]);
    for (const { id, data = "" } of copy.textObjects) {
      const html = Buffer.from(data, "base64").toString("utf8");
      if (html.includes("data-path"))
        expect([/custom\w+?(\d+)"/.exec(html)?.[1], /data-path="(\d+)"/.exec(html)?.[1]]).toEqual([`${id}`, `${id}`]);
    }
    expect(copy.textObjects.map(({ data = "" }) => Buffer.from(data, "base64").toString("utf8")).join()).toContain(
      "<b>Core &amp; edge</b>",
    );
    expect(copy.textObjects.find(({ type }) => type === "custom")?.data).toBe("not base64 <b>");
  });
});

describe("a copy on other editions", () => {
  it("names the pictures that PNETLab takes with the first import of a lab alone", async () => {
    await using bench = await eveBench({ edition: "pnetlab" });
    const { lines, again } = await copied(bench);
    expect(summaries(lines)).toEqual([
      ...keptEverywhere,
      ["dropped", 'the picture "map & ü"'],
      ["dropped", 'the picture "plan"'],
      spare,
      [
        "dropped",
        "parts of the file that Labwright does not know: editable, editable_emails, joinable, joinable_emails, openable, openable_emails",
      ],
    ]);
    expect(again).toEqual(lines);
  });

  it("has on Professional what single calls can write", async () => {
    await using bench = await eveBench({ edition: "pro" });
    const { lines, again } = await copied(bench);
    expect(summaries(lines)).toEqual([...keptEverywhere, spare, ["kept", "the icon"]]);
    expect(again).toEqual(lines);
  });
});

it("startup configs that no node uses stay behind if they are not asked for", async () => {
  await using bench = await eveBench({ edition: "ce5" });
  const { lines } = await copied(bench, false);
  expect(summaries(lines)).toContainEqual(["dropped", "a startup config that is not in use", "b"]);
  expect(bench.fake.labFile("/copy.unl")).not.toContain("<config ");
});
