import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HostCaptures } from "../../host-captures.ts";
import { eventually, labOf, type TestLocalHost, testLocalHost } from "../test-local-host.ts";

const run = promisify(execFile);

describe.skipIf(process.getuid?.() !== 0)("captures of the embedded host", () => {
  let local: TestLocalHost;
  let work: string;
  const path = "/cap";
  const captures = (): HostCaptures => local.session.captures!;
  const nodeId = async (name: string) => (await local.session.observe(path))!.nodes.find((node) => node.name === name)!.id;

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), "labwright-capture-"));
    local = await testLocalHost();
    await local.deploy(
      path,
      labOf(`
name: cap
nodes:
  h1: {template: linux, exec: ["ip addr add 10.0.0.1/24 dev eth0"]}
  h2: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0"]}
links:
  - ["h1:eth0", "h2:eth0"]
`),
    );
    await eventually(
      "a first ping",
      20_000,
      () => local.exec(path, "h1", "ping", "-c1", "-W1", "10.0.0.2"),
      ({ code }) => code === 0,
    );
  });
  afterAll(async () => {
    await local?.[Symbol.asyncDispose]();
    await rm(work, { recursive: true, force: true });
  });

  async function bytesOf(id: string): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const part of captures().read(path, id, { follow: false })) parts.push(part);
    return Buffer.concat(parts);
  }

  async function tshark(id: string, ...fields: readonly string[]): Promise<string[][]> {
    const file = join(work, `${id}.pcapng`);
    await writeFile(file, await bytesOf(id));
    const { stdout } = await run("tshark", ["-r", file, "-T", "fields", ...fields.flatMap((field) => ["-e", field])]);
    return stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.split("\t"));
  }

  test("a ping's packets are in the pcapng, named as in the lab, with direction, in order", async () => {
    const started = await captures().start(path, { nodeId: await nodeId("h1"), interface: "eth0", label: "h1:eth0", filter: "icmp" });
    expect(started).toMatchObject({ status: "running", label: "h1:eth0", truncated: false });
    expect((await local.exec(path, "h1", "ping", "-c5", "-i0.1", "10.0.0.2")).code).toBe(0);
    const rows = await eventually(
      "the packets",
      10_000,
      () => tshark(started.id, "frame.interface_name", "frame.packet_flags_direction", "icmp.type", "icmp.seq"),
      (all) => all.length === 10,
    );
    expect(rows).toEqual(
      [1, 2, 3, 4, 5].flatMap((seq) => [
        ["h1:eth0", "0x00000002", "8", String(seq)],
        ["h1:eth0", "0x00000001", "0", String(seq)],
      ]),
    );
    const stopped = await captures().stop(path, started.id);
    expect(stopped).toMatchObject({ status: "stopped", packets: 10, dropped: 0 });
    expect(stopped.reason).toBeUndefined();
    expect(await tshark(started.id, "icmp.seq")).toHaveLength(10);
    await captures().remove(path, started.id);
    await expect(captures().get(path, started.id)).rejects.toMatchObject({ code: "capture_not_found" });
  });
});
