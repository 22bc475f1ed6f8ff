import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";

describe.runIf(process.getuid?.() === 0)("a node that fills the shared neighbour table", () => {
  let local: TestLocalHost;
  beforeAll(async () => {
    local = await testLocalHost({ maxNeighbours: 16_000 });
    await local.deploy(
      "/table",
      labOf('name: table\nnodes:\n  full: {template: linux}\n  other: {template: linux}\nlinks: [["full:eth0", "other:eth0"]]\n'),
    );
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
  });
  const powerOf = async (name: string) => (await local.session.status("/table")).nodes.find((node) => node.name === name)?.status;
  const fill = `ip link set eth0 up; ip addr add 10.1.0.1/16 dev eth0
for x in $(seq 0 19); do for y in $(seq 0 255); do echo "neigh replace 10.1.$x.$y lladdr 02:00:00:00:00:01 nud permanent dev eth0"; done; done | ip -batch -`;

  test("is suspended, is stopped if that does not help, and its neighbour runs on", async () => {
    expect((await local.exec("/table", "full", "sh", "-c", fill)).code).toBe(0);
    const text = "lab /table: node full has more than 1000 neighbours, in a table that all labs share";
    const warned = (text: string) =>
      eventually(
        text,
        60_000,
        async () => local.warnings,
        (warnings) => warnings.includes(text),
      );
    await warned(`${text}: it was suspended`);
    expect(await powerOf("full")).not.toBe("running");
    await warned(`${text}, and still had when it was suspended: it was stopped`);
    expect(await powerOf("full")).not.toBe("suspended");
    expect(await powerOf("other")).toBe("running");
    expect(local.warnings.filter((text) => text.includes("node other"))).toEqual([]);
  });
});
