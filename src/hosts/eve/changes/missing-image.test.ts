import { afterEach, describe, expect, it } from "vitest";
import { type EveBench, eveBench, lab, node } from "../eve-bench.fixture.ts";

let made: EveBench | undefined;

afterEach(async () => {
  const ended = made;
  made = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
});

/** A lab with a node whose image was removed from the host after the lab was made. */
async function withMissingImage(notices: "hidden" | "visible"): Promise<EveBench> {
  const here = await eveBench({ notices });
  made = here;
  await here.make("/one", wanted);
  here.fake.putLabFile("/one.unl", (here.fake.labFile("/one.unl") ?? "").replace("linux-tiny-1.0", "linux-gone"));
  return here;
}

const wanted = lab({ nodes: [node("r1", "linux", { start: false })] });

describe.each(["hidden", "visible"] as const)("on a host with notices %s, the name of an image that the host does not have", (notices) => {
  it("is kept when the lab is locked and unlocked", async () => {
    const { session, fake } = await withMissingImage(notices);
    for (const locked of [true, false]) {
      await session.setLock("/one", locked);
      expect((await session.observe("/one"))?.locked).toBe(locked);
      expect(fake.labFile("/one.unl")).toContain('image="linux-gone"');
    }
  });

  it("is kept when another node is added", async () => {
    const here = await withMissingImage(notices);
    const kept = { ...wanted.nodes[0]!, image: "linux-gone" };
    await here.make("/one", lab({ ...wanted, nodes: [node("pc1", "vpcs", { start: false }), kept] }));
    expect(here.fake.labFile("/one.unl")).toContain('image="linux-gone"');
    expect(here.fake.labFile("/one.unl")).toContain('name="pc1"');
  });
});
