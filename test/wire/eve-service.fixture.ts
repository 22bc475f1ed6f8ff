import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { connect, type LabwrightClient } from "../../src/client/connect.ts";
import { testedProgram } from "../../src/files/tested-program.fixture.ts";
import { eveHost } from "../../src/hosts/eve/host.ts";
import type { FakeEveOptions } from "../fakes/eve/options.ts";
import { type FakeEve, startFakeEve } from "../fakes/eve/server.ts";
import { serve as serveHost } from "./served.ts";

export const yaml = `
name: pair
nodes:
  pc1: { kind: vpcs, startup-config: "ip 10.0.0.1/24\\n" }
  pc2: { kind: vpcs }
links:
  - endpoints: ["pc1:eth0", "pc2:eth0"]
`;
export const project = { yaml, lab: "/pair", project_mode: "create" } as never;
export const names = (fake: FakeEve) =>
  fake
    .running()
    .map(({ name }) => name)
    .sort();

/** Registers what ends after each test of the calling file. `serve` starts labwright serve --host eve on a fake host, and signs in there. */
export function eveServices() {
  const ends: (() => Promise<unknown>)[] = [];

  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  async function serve(
    options: FakeEveOptions = {},
  ): Promise<{ readonly fake: FakeEve; readonly client: LabwrightClient; readonly warned: () => string }> {
    const fake = await startFakeEve({ latency: "none", templates: ["linux", "vpcs"], ...options });
    ends.push(async () => {
      await fake.close();
      expect(fake.defects).toEqual([]);
    });
    const stateDir = await mkdtemp(join(tmpdir(), "labwright-eve-"));
    ends.push(() => rm(stateDir, { recursive: true, force: true }));
    const main = testedProgram("server/main");
    const flags = ["--host", "eve", "--url", fake.url, "--host-plain-http", "--port", "0", "--state-dir", stateDir];
    const service: ChildProcess = spawn(process.execPath, [main, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
    const ended = once(service, "exit");
    ends.push(async () => {
      service.kill("SIGTERM");
      await ended;
    });
    let [seen, warned] = ["", ""];
    service.stdout?.on("data", (chunk: Buffer) => (seen += chunk));
    service.stderr?.on("data", (chunk: Buffer) => (warned += chunk));
    await expect.poll(() => seen, { timeout: 60_000 }).toMatch(/listens on (\S+) \(eve host\), certificate sha256:(\w+)/);
    const [, url = "", pin = ""] = /listens on (\S+) .*sha256:([\w:]+)/.exec(seen) ?? [];
    const client = connect({ url, pin, credentials: { username: "admin", password: "eve" } });
    ends.push(async () => client[Symbol.dispose]());
    return { fake, client, warned: () => warned };
  }
  return { serve, ends };
}

type Edition = NonNullable<FakeEveOptions["edition"]>;

/** Declares the tests of the service on these editions of the host. */
export function serviceOnEditions(served: readonly Edition[], troubled: readonly Edition[]): void {
  const { serve, ends } = eveServices();
  describe.each(served)("labwright serve --host eve on %s", (edition) => {
    it("deploys a lab, reports its state to a hundred clients at once in three calls, runs a command on a console and destroys it", async () => {
      const { fake, client, warned } = await serve({ edition });
      expect(warned()).toContain("in the clear");
      await client.deployProject(project);
      expect(names(fake)).toEqual(["pc1", "pc2"]);
      const status = await client.getProjectStatus(project);
      expect(status).toMatchObject({ exists: true, live: { available: true, joined: true } });
      const run = await client.execConsole({
        yaml,
        lab: "/pair",
        project_mode: "create",
        node: "pc1",
        command: "echo over telnet",
      } as never);
      expect(JSON.stringify(run)).toContain("over telnet");
      const heard = fake.calls.length;
      const began = performance.now();
      const poller = async () => {
        for (let i = 0; i < 2; i++) expect(await client.getProjectStatus(project)).toMatchObject({ live: { available: true } });
      };
      await Promise.all(Array.from({ length: 100 }, poller));
      // The service reads the host at most once in an interval, for all clients together.
      const intervals = Math.ceil((performance.now() - began) / 250) + 1;
      expect(fake.calls.slice(heard).length).toBeLessThanOrEqual(3 * intervals);

      await client.destroyProject(project);
      expect(fake.running()).toEqual([]);
      expect(fake.labFile("/pair.unl")).toBeUndefined();
    });
  });

  describe.each(troubled)("trouble of a host of %s", (edition) => {
    it.each([
      ["/api/v1/projects/deploy", /^POST /, { yaml, lab: "/two" }],
      ["/api/v1/projects/destroy", /^DELETE|delete/, { lab: "/pair" }],
      ["/api/v1/projects/inspect", /labs|labs\/session/, { lab: "/pair", refresh: true }],
    ])("is reported by %s without paths of files on the host, which only the log has", async (path, call, body) => {
      const fake = await startFakeEve({ latency: "none", templates: ["linux", "vpcs"], edition });
      ends.push(() => fake.close());
      const service = await serveHost({ host: eveHost({ url: fake.url, plainHttp: true, warn: () => {} }) });
      ends.push(async () => service[Symbol.asyncDispose]());
      const client = await service.signIn("admin", "eve");
      expect((await client.post("/api/v1/projects/deploy", project)).status).toBe(200);
      fake.breakNext(call, "page before");
      const { status, text, json } = await client.post(path, body);
      expect([status, json.code, json.error]).toEqual([502, "host_error", expect.stringContaining(" in api.php")]);
      const jobs = await client.get("/api/v1/jobs");
      for (const seen of [text, jobs.text]) expect(seen).not.toMatch(/\/(opt|var|usr|tmp|home)\//);
      expect(service.log.join("")).toContain("/opt/unetlab/html/api.php");
    });
  });
}
