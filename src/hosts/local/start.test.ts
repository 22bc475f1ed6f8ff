import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Failure } from "../../contract/errors.ts";
import { eventually, labOf, operation, type TestLocalHost, testLocalHost } from "./testing/test-local-host.fixture.ts";

/** More nodes than one batch has. */
const count = 150;
const name = (i: number) => `n${i % count}`;
const ring = Array.from({ length: count }, (_, i) => i);

describe.skipIf(process.getuid?.() !== 0)("more nodes than one batch has", () => {
  let local: TestLocalHost;
  beforeAll(async () => {
    local = await testLocalHost();
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
  });

  /** A ring whose nodes record at boot whether their links have carrier. */
  const lab = () =>
    labOf(
      `name: t
nodes:
${ring.map((i) => `  ${name(i)}: {template: linux, exec: ["cat /sys/class/net/eth0/carrier /sys/class/net/eth1/carrier > /root/carrier"]}`).join("\n")}
links:
${ring.map((i) => `  - ["${name(i)}:eth1", "${name(i + 1)}:eth0"]`).join("\n")}
`,
    );
  const status = async () => (await local.session.status("/t")).nodes;
  const run = () => eventually("all run", 60_000, status, (nodes) => nodes.every((node) => node.status === "running"));

  test("boot when their links have carrier, and all of them run", async () => {
    await local.deploy("/t", lab());
    await run();
    for (const node of [0, 63, 64, 100, count - 1].map(name))
      expect((await local.exec("/t", node, "cat", "/root/carrier")).stdout).toBe("1\n1\n");
  });

  test("are all stopped if one of the last cannot be made, also after a restart of the service; then they start", async () => {
    const ids = local.ids("/t").nodes;
    const power = (what: "start" | "stop") =>
      local.session.apply(
        "/t",
        ring.map((i) => operation(what === "start" ? { do: what, node: name(i) } : { do: what, node: name(i), mode: 1 }, i)),
        { ids: local.ids("/t"), step: () => undefined },
      );
    await power("stop");
    const observed = await local.session.observe("/t");
    const directory = join(local.paths.state, "labs", observed!.id);
    const disk = join(directory, "nodes", ids[name(count - 1)]!);
    await rename(disk, `${disk}.away`);
    await writeFile(disk, "in the way");
    const failure = await power("start").catch((error: Failure) => error);
    expect(failure).toMatchObject({ code: "host_error", message: expect.stringContaining("1 of 150 nodes could not be created") });
    expect(new Set((await status()).map((node) => node.status))).toEqual(new Set(["stopped"]));
    // Nodes that booted while others were still being spawned were recorded as running.
    const written = JSON.parse(await readFile(join(directory, "lab.json"), "utf8")) as { nodes: { power: string }[] };
    expect(new Set(written.nodes.map((node) => node.power))).toEqual(new Set(["stopped"]));
    await local.reopen();
    expect(new Set((await status()).map((node) => node.status))).toEqual(new Set(["stopped"]));
    await rename(`${disk}`, `${disk}.file`);
    await rename(`${disk}.away`, disk);
    await mkdir(disk, { recursive: true });
    await power("start");
    await run();
  });
});
