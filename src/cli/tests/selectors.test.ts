import { expect, test } from "vitest";
import { run, useService, write } from "./cli.fixture.ts";

useService();

test("commands take nodes by pattern, kind, group and label", async () => {
  write(
    "chosen",
    `name: chosen
groups: {core: {labels: {site: north}}}
kinds: {router: {template: frr}}
nodes:
  r1: {kind: router, group: core}
  r2: {kind: router}
  h1: {template: linux, labels: {role: client}}
`,
  );
  expect((await run(["deploy"])).code).toBe(0);
  const answers = async (...words: readonly string[]) => {
    const { code, stdout, stderr } = await run(["exec", "--format", "json", ...words, "--", "hostname"]);
    expect(code, stderr).toBe(0);
    return (JSON.parse(stdout).results as readonly { node: string }[]).map(({ node }) => node).join(" ");
  };
  const completed = async (...words: readonly string[]) => (await run(["__complete", "node", ...words])).stdout.trim().split("\n");
  const common = ["h1", "r1", "r2"];
  expect(await completed()).toEqual([
    ...common,
    "group:core",
    "kind:frr",
    "kind:linux",
    "kind:router",
    "label:role=client",
    "label:site=north",
  ]);
  // Without the lab's file, the service knows neither kinds nor groups of the file.
  expect((await completed("--lab", "/chosen")).toSorted()).toEqual(
    [...common, "kind:frr", "kind:linux", "label:role=client", "label:site=north"].toSorted(),
  );
  expect(await answers("group:core")).toBe("r1");
  expect(await answers("kind:router")).toBe("r1 r2");
  expect(await answers("label:site=north,h*")).toBe("h1 r1");
  expect(await answers("kind:linux", "--lab", "/chosen")).toBe("h1");
  expect((await run(["stop", "--node", "kind:router", "--format", "json"])).stdout).toContain('"stopped": 2');
  expect((await run(["status", "--node", "group:core"])).stdout).toMatch(/r1 +stopped/);
  expect((await run(["start", "--node", "r?"])).code).toBe(0);
  expect(await run(["logs", "label:role=client"])).toMatchObject({ code: 0 });
  expect((await run(["logs", "r*"])).stderr).toContain('"r*" chooses several nodes: r1, r2');
  expect((await run(["wipe", "--node", "kind:rooter", "--yes"])).stderr).toMatch(/no node for "kind:rooter"[\s\S]*did you mean "router"/);
  expect((await run(["cli", "group:edge", "--", "x"])).stderr).toContain("there is core");
});
