import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { begin, cli, ended, onTerminal, password, run, runProcess, until, useService, watch, write } from "./cli.fixture.ts";

useService();

test("a console with piped input prints the node's answer before it ends", async () => {
  write("piped");
  expect((await run(["deploy"])).code).toBe(0);
  // On a busy machine the first answer may arrive late. The scrollback contains it in the next round.
  let stdout = "";
  for (let round = 0; round < 5 && !/over there[\r\n]+over there/.test(stdout); round++) {
    const ran = await runProcess(["console", "r1"], { input: "echo over there\r" });
    expect(ran.code, ran.stderr).toBe(0);
    stdout = ran.stdout;
  }
  expect(stdout).toMatch(/over there[\r\n]+over there/);
});

test("a console copies bytes in both directions and is closed by its escape", async () => {
  write("talk");
  expect((await run(["deploy"])).code).toBe(0);
  const { child, seen } = onTerminal(["console", "r1", "--record", "talk.cast"]);
  await until(
    () => `the prompt: ${seen.stdout}`,
    () => seen.stdout.includes("r1# "),
  );
  child.stdin?.write("echo over there\r");
  await until(
    () => `the echo in ${JSON.stringify(seen.stdout)}`,
    () => /over there[\r\n]+over there/.test(seen.stdout),
  );
  child.stdin?.write("\u001d");
  expect(await ended(child), seen.stdout).toBe(0);
  expect(seen.stdout).toContain("closed the console of r1");
  const [head, ...events] = readFileSync(join(cli.folder, "talk.cast"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(head).toMatchObject({ version: 2, width: expect.any(Number) });
  expect(events.map(([, , text]: readonly [number, string, string]) => text).join("")).toMatch(/over there[\r\n]+over there/);
  expect(await run(["console", "r1", "--record", "talk.cast"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("exists already"),
  });
  expect((await run(["consoles"])).stdout).toMatch(/r1 +\w+ +running +yes/);
  expect((await run(["stop", "--node", "r1"])).code).toBe(0);
  expect(await run(["logs", "r1"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/over there\nover there\n/) });
  expect((await run(["logs"])).stderr).toContain("logs needs a node");
});

test("events shows each event when it happens, as text or as one object per line, until a signal", async () => {
  write("told");
  expect((await run(["deploy"])).code).toBe(0);
  const people = begin(["events", "--lab", "/told", "--type", "node,job"]);
  const programs = begin(["events", "--format", "json"]);
  const [lines, objects] = [watch(people), watch(programs)];
  // The processes may not be connected yet: repeat the changes until both have printed an event.
  const deadline = Date.now() + 60_000;
  while (!lines.stdout.includes("node h1: stopped") || !objects.stdout.includes('"stopped"')) {
    expect(Date.now(), lines.stdout + lines.stderr + objects.stderr).toBeLessThan(deadline);
    expect((await run(["stop", "--node", "h1"])).code).toBe(0);
    await pause(1_000);
    expect((await run(["start", "--node", "h1"])).code).toBe(0);
    await pause(1_000);
  }
  expect(lines.stdout).toMatch(/^\d\d:\d\d:\d\d {2}\/told {2}start, stop or wipe by admin: begins$/m);
  expect(lines.stdout).toMatch(/^\d\d:\d\d:\d\d {2}\/told {2}node h1: stopped \(was running\b.*\)$/m);
  expect(lines.stdout).not.toContain("heartbeat");
  people.kill("SIGINT");
  programs.kill("SIGTERM");
  expect([await ended(people), await ended(programs)]).toEqual([0, 0]);
  const told = objects.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(told).toContainEqual(expect.objectContaining({ type: "node", lab: "/told", data: expect.objectContaining({ node: "h1" }) }));
  expect((await run(["events", "--type", "node,nodes"])).stderr).toContain('not "nodes"');
  const wrong = await run(["events", "--lab", "/no-such-lab"]);
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("lab_not_found")]);
  expect((await run(["destroy", "--yes"])).code).toBe(0);
});

test("status --watch reports that the service is unavailable, and continues when it is available again", async () => {
  const own = join(cli.folder, "own");
  const env = {
    LABWRIGHT_STATE_DIR: own,
    XDG_CONFIG_HOME: join(cli.folder, "config"),
    LABWRIGHT_ADMIN_PASSWORD: password,
    LABWRIGHT_USER: "admin",
    LABWRIGHT_PASSWORD: password,
  };
  const file = join(own, "service.json");
  const serve = async (port: string) => {
    const child = begin(["serve", "--port", port, "--host", "memory"], env);
    const told = watch(child);
    await until(
      () => `the service; it said: ${told.stderr}`,
      () => existsSync(file) || child.exitCode !== null,
    );
    return child;
  };
  // Outside of the range of ports that the system assigns: the port must be free again after the restart.
  const first = await serve(String(10_000 + (process.pid % 10_000)));
  const at = JSON.parse(readFileSync(file, "utf8")) as { url: string; fingerprint: string };
  const there = ["--url", at.url, "--pin", at.fingerprint];
  write("watched");
  expect((await run(["deploy", "-q", ...there], { env })).code).toBe(0);
  const watching = begin(["status", "--watch", ...there], env);
  const seen = watch(watching);
  await until(
    () => `the status; it said: ${seen.stderr}`,
    () => seen.stdout.includes("/watched"),
  );
  first.kill("SIGTERM");
  await ended(first);
  await until(
    () => `the note; it said: ${seen.stderr}`,
    () => seen.stderr.includes("trying again"),
  );
  const second = await serve(new URL(at.url).port);
  await until(
    () => `the return; it said: ${seen.stderr}`,
    () => seen.stderr.includes("the service answers again"),
  );
  expect(seen.stderr.match(/trying again/g)).toHaveLength(1);
  watching.kill("SIGINT");
  expect(await ended(watching)).toBe(0);
  second.kill("SIGTERM");
  await ended(second);
});
