import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { connect } from "../../src/client/connect.ts";
import { startFakeEve } from "../fakes/eve/server.ts";

const yaml = `
name: pair
nodes:
  pc1: { kind: vpcs, startup-config: "ip 10.0.0.1/24\\n" }
  pc2: { kind: vpcs }
links:
  - endpoints: ["pc1:eth0", "pc2:eth0"]
`;

it("labwright serve --host eve deploys a lab, tells its state, runs a command on a console and destroys it", async () => {
  await using fake = await startFakeEve({ latency: "none" });
  const stateDir = await mkdtemp(join(tmpdir(), "labwright-eve-"));
  const main = fileURLToPath(new URL("../../src/server/main.ts", import.meta.url));
  const flags = ["--host", "eve", "--url", fake.url, "--host-plain-http", "--port", "0", "--state-dir", stateDir];
  const service = spawn(process.execPath, [main, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(service, "exit");
  let [told, warned] = ["", ""];
  service.stdout.on("data", (chunk: Buffer) => (told += chunk));
  service.stderr.on("data", (chunk: Buffer) => (warned += chunk));
  try {
    await expect.poll(() => told, { timeout: 15_000 }).toMatch(/listens on (\S+) \(eve host\), certificate sha256:(\w+)/);
    expect(warned).toContain("in the clear");
    const [, url = "", pin = ""] = /listens on (\S+) .*sha256:([\w:]+)/.exec(told) ?? [];
    const client = connect({ url, pin, credentials: { username: "admin", password: "eve" } });
    const project = { yaml, lab: "/pair", project_mode: "create" };
    await client.deployProject(project as never);
    expect(
      fake
        .running()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(["pc1", "pc2"]);
    const status = await client.getProjectStatus(project as never);
    expect(status).toMatchObject({ exists: true, live: { available: true, joined: true } });
    const run = await client.execConsole({ ...project, node: "pc1", command: "echo over telnet" } as never);
    expect(JSON.stringify(run)).toContain("over telnet");
    await client.destroyProject(project as never);
    expect(fake.running()).toEqual([]);
    expect(fake.labFile("/pair.unl")).toBeUndefined();
  } finally {
    service.kill("SIGTERM");
    await ended;
    await rm(stateDir, { recursive: true, force: true });
  }
  expect(fake.defects).toEqual([]);
});
