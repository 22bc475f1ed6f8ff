import { afterEach, describe, expect, it } from "vitest";
import { isUnreadableLab } from "../../host-unreadable.ts";
import { type EveBench, eveBench, operation, pair } from "../eve-bench.fixture.ts";

let here: EveBench;

afterEach(async () => {
  await here[Symbol.asyncDispose]();
  expect(here.fake.defects).toEqual([]);
});

const noIds = { nodes: {}, networks: {}, links: {} };
const deletion = [operation({ do: "delete-lab", wipe: true })];

/** /odd is a lab of two stopped nodes, the first of which has this id since somebody edited its file. /good is an ordinary lab. */
async function withOddLab(id: string): Promise<void> {
  here = await eveBench({ edition: "ce5", notices: "visible" });
  await here.make("/good", pair);
  await here.make("/odd", { ...pair, name: "odd", nodes: pair.nodes.map((node) => ({ ...node, start: false })) });
  const file = here.fake.labFile("/odd.unl") ?? "";
  here.fake.putLabFile("/odd.unl", file.replace(/<node id="\d+"/, `<node id="${id}"`));
}

describe.each(["1e9", "0x10", "1.5", "abc", "", "007", "-1", "99999999999999999999"])("a node with the id %j in the lab's file", (id) => {
  it("makes the lab unreadable, with lab, node and file in the message", async () => {
    await withOddLab(id);
    const refused = await here.session.observe("/odd").catch((error: unknown) => error);
    expect(isUnreadableLab(refused)).toBe(true);
    expect(refused).toMatchObject({
      code: "host_error",
      message: expect.stringMatching(/lab \/odd: .*node "pc1" has the id .* file \/odd\.unl/),
    });
    expect(await here.session.labs()).toContain("/odd");
  });

  it("does not keep the lab from being destroyed, nor other labs from being used", async () => {
    await withOddLab(id);
    await here.session.apply("/odd", deletion, { ids: noIds, step: () => {} });
    expect(here.fake.labFile("/odd.unl")).toBeUndefined();
    expect((await here.session.status("/good")).nodes.map(({ status }) => status)).toEqual(["running", "running"]);
  });

  it("does not delay a new lab, whose nodes get numbers that no lab has", async () => {
    await withOddLab(id);
    await here.make("/new", { ...pair, name: "new" });
    expect((await here.session.status("/new")).nodes.map(({ status }) => status)).toEqual(["running", "running"]);
  });
});

it("the other nodes of such a lab are stopped before it is deleted, so that none runs on without its lab", async () => {
  here = await eveBench({ edition: "ce5", notices: "visible" });
  await here.make("/odd", pair);
  const file = here.fake.labFile("/odd.unl") ?? "";
  const [element = ""] = /<node id="1".*?<\/node>/s.exec(file) ?? [];
  expect(element).toContain("pc1");
  here.fake.putLabFile("/odd.unl", file.replace("</nodes>", `${element.replace('id="1"', 'id="1e9"').replace("pc1", "extra")}</nodes>`));
  await here.session.apply("/odd", deletion, { ids: noIds, step: () => {} });
  expect(here.fake.running()).toEqual([]);
});
