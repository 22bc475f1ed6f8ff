import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { probeControlGroups } from "../resources/control-groups.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { builtinTemplates } from "../templates/reading/templates.ts";
import { eventually, labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";

let local: TestLocalHost;
let limited: boolean;
const pair = (name: string, template: string) =>
  labOf(`
name: ${name}
nodes:
  a: {template: ${template}}
  b: {template: ${template}}
links: [["a:eth0", "b:eth0"]]
`);

beforeAll(async () => {
  const { memory, pids } = await probeControlGroups();
  limited = memory !== undefined && pids !== undefined;
  local = await testLocalHost();
  // Of the user's own: the linux node with less of everything.
  const text = await readFile(join(builtinTemplates, "linux.yaml"), "utf8");
  const small = `${text.replace(/^id: linux$/m, "id: small")}\nlimits: {ram: 48, processes: 64, disk: 16}\n`;
  await mkdir(join(local.paths.state, "templates"));
  await writeFile(join(local.paths.state, "templates", "small.yaml"), small);
  await local.reopen();
  await local.deploy("/loud", pair("loud", "small"));
  await local.deploy("/quiet", pair("quiet", "linux"));
  for (const path of ["/loud", "/quiet"]) {
    for (const [node, address] of [
      ["a", "10.0.0.1/24"],
      ["b", "10.0.0.2/24"],
    ] as const) {
      expect((await local.exec(path, node, "sh", "-c", `ip addr add ${address} dev eth0 && ip link set eth0 up`)).code).toBe(0);
    }
  }
});

afterAll(async () => {
  await local[Symbol.asyncDispose]();
});

/** Starts a program in a node of the loud lab, and lets it do its worst until the lab ends. */
async function unleash(sandbox: Sandbox, id: number, script: string): Promise<void> {
  const { code } = await sandbox.exec(id, ["sh", "-c", `(${script}) > /dev/null 2>&1 < /dev/null &`], { timeoutMs: 30_000 });
  expect(code).toBe(0);
}

describe("a node that fills its disk", () => {
  test("comes to its largest file, and its neighbour can still write", async () => {
    const fill = await local.exec("/loud", "a", "sh", "-c", "dd if=/dev/zero of=/root/big bs=1M count=64; wc -c < /root/big; rm /root/big");
    expect(fill.stdout.trim()).toBe(String(16 * 1024 * 1024));
    expect(await local.exec("/loud", "b", "sh", "-c", "echo well > /root/file && cat /root/file")).toMatchObject({ stdout: "well\n" });
  });
});

test("a lab that forks, hogs memory and floods its link and its consoles leaves the others, and the host, working", async (context) => {
  if (!limited) return context.skip("this machine has no control groups for memory and processes");
  const loud = await local.sandbox("/loud");
  const [a, b] = (await local.session.observe("/loud"))!.nodes.map(({ id }) => Number(id)) as [number, number];
  const console = await local.session.console("/loud", String(a));
  let noise = 0;
  console.stream.on("data", (chunk: Buffer) => {
    noise += chunk.length;
  });
  await unleash(loud, a, "ping -f 10.0.0.2");
  console.stream.write("yes flood\n");
  await unleash(loud, b, "while :; do dd if=/dev/zero of=/dev/null bs=200M count=1; done");
  await unleash(loud, b, "bomb() { bomb | bomb; }; while :; do bomb; done");
  await eventually(
    "the console floods",
    120_000,
    async () => noise,
    (bytes) => bytes > 1_000_000,
  );

  // All of it goes on while the neighbours work and the host answers.
  for (let i = 0; i < 3; i++) {
    const ping = await local.exec("/quiet", "a", "ping", "-c", "2", "-i", "0.2", "-w", "8", "10.0.0.2");
    expect(ping).toMatchObject({ code: 0 });
    const nodes = (await local.session.status("/loud")).nodes;
    expect(nodes.map(({ status }) => status)).toEqual(["running", "running"]);
    expect(Math.max(...nodes.map(({ memory_bytes }) => memory_bytes ?? 0))).toBeLessThanOrEqual(48 * 1024 * 1024);
  }
  await local.deploy("/new", pair("new", "linux"));
  expect((await local.exec("/new", "b", "echo", "well")).stdout).toBe("well\n");
  await local.deploy("/new", null);
  console.stream.destroy();
  await local.deploy("/loud", null);
  expect(await local.session.labs()).toEqual(["/quiet"]);
}, 300_000);
