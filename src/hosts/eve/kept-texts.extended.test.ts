import { describe, expect, it } from "vitest";
import { eveBench, lab, link, node } from "./eve-bench.fixture.ts";

const awkward = ["a&b", "a<b", "a>b", 'a"b', "a'b", "aüb", "a€b", "a😀b", `n&<>"'ü€😀`, "AT&T;", "a &b; c", "50 % <b>"];

const kinds = (["ce5", "ce6", "pro", "pnetlab"] as const).flatMap((edition) =>
  (["visible", "hidden"] as const).map((notices) => ({ edition, notices })),
);

describe.each(kinds)("texts with awkward characters on EVE-NG $edition, PHP's notices $notices", (options) => {
  it("stay as they were given after each of three saves", async () => {
    await using bench = await eveBench(options);
    const at = (x: number) =>
      lab({
        description: awkward.join("\n"),
        nodes: [
          node("pc1", "vpcs", { startupConfig: `set pcname ${awkward.join("\n# ")}\n`, position: { x, y: 0 } }),
          node("pc2", "vpcs", { position: { x: 5, y: 5 } }),
        ],
        networks: awkward.map((name, i) => ({ key: `n${i}`, name, type: "bridge", position: { x: i, y: i } })),
        links: [link("pc1:eth0", "n0")],
        texts: awkward.map((text, i) => ({ text, x: i, y: i })),
      });
    await bench.make("/odd", at(0));
    for (const x of [1, 2, 3]) {
      await bench.make("/odd", at(x));
      const { networks, description, nodes, texts } = await bench.capture("/odd");
      expect(networks.map(({ name }) => name).sort()).toEqual([...awkward].sort());
      expect(description).toBe(at(0).description);
      expect(nodes.find(({ name }) => name === "pc1")?.startupConfig).toBe(at(0).nodes[0]?.startupConfig);
      expect(texts.map(({ text }) => text).sort()).toEqual([...awkward].sort());
    }
  });

  it("refuses names that the host would not keep, before anything is sent", async () => {
    await using bench = await eveBench(options);
    for (const name of ["R&amp;D", "B&uuml;ro", "&#039;"]) {
      const { blocked } = await bench.plan("/odd", lab({ networks: [{ key: "n", name, type: "bridge" }] }));
      expect(blocked.map(({ key, reason: { code, field } }) => [key, code, field])).toEqual([["n", "bad_name", "name"]]);
    }
    for (const name of awkward) {
      const { blocked } = await bench.plan("/odd", lab({ nodes: [node("pc", "vpcs", { name })] }));
      expect(blocked.map(({ reason }) => reason.code)).toEqual(["bad_name"]);
      await expect(bench.session.observe(`/folder/${name}`)).rejects.toMatchObject({ code: "bad_request" });
    }
    expect(bench.fake.calls.filter((call) => !call.startsWith("GET") && !call.includes("/auth/login"))).toEqual([]);
  });
});
