import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";

/** A user's own host template: the base image, an attribute for its boot command, and a ready check. */
const mine = `id: beacon
description: A host that says its greeting
type: linux
backend: namespace
images: [base]
interfaces: {format: "port{0}", max: 2}
boot: [/bin/sh, -c, 'echo "$LABWRIGHT_GREETING $LABWRIGHT_TIMES $OWN" > /greeting; . /usr/lib/labwright/boot-common; run_commands']
console: {type: telnet, argv: [/bin/sh, -l], prompt: '# $'}
ready: {argv: [/bin/test, -e, /ready]}
startup-config: false
attributes:
  - {name: greeting, label: Greeting, type: enum, options: [{value: hello, label: Hello}, {value: bye, label: Bye}], default: hello}
  - {name: times, label: Times, type: integer, min: 1, max: 9, default: 3, description: How often}
fields:
  {name: live, image: recreate, icon: live, startupConfig: {unsupported: it has none}, exec: restart, cpu: {unsupported: no limits}, ram: {unsupported: no limits},
   ethernet: live, position: live, env: restart, attributes: restart, labels: live}
links: live
`;

describe.skipIf(process.getuid?.() !== 0)("the user's own template directory", () => {
  let local: TestLocalHost;
  let directory: string;
  beforeAll(async () => {
    local = await testLocalHost();
    directory = join(local.paths.state, "templates");
    await mkdir(directory);
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
  });
  const listed = (id: string) =>
    eventually(
      `template ${id} is listed`,
      30_000,
      async () => (await local.session.templates()).find((one) => one.id === id),
      (found) => found !== undefined,
    );

  test("is there at once, also right after the catalogue was read", async () => {
    await local.session.templates();
    await writeFile(join(directory, "late.yml"), mine.replace("beacon", "late"));
    expect((await local.session.templates()).map(({ id }) => id)).toContain("late");
    await rm(join(directory, "late.yml"));
    expect((await local.session.templates()).map(({ id }) => id)).not.toContain("late");
  });

  test("is read without a restart: the template is listed with type, images and attributes, and its nodes run accordingly", async () => {
    await writeFile(join(directory, "beacon.yml"), mine);
    expect(await listed("beacon")).toMatchObject({
      description: "A host that says its greeting",
      type: "linux",
      provisioned: true,
      configSupported: false,
      images: [{ name: "base", default: true }],
      attributes: [
        { name: "greeting", type: "enum", default: "hello", options: [{ value: "hello" }, { value: "bye" }] },
        { name: "times", type: "integer", default: 3, min: 1, max: 9, description: "How often" },
      ],
    });
    const yaml = `name: own
nodes:
  a: {template: beacon, env: {OWN: env}, attributes: {greeting: bye}, exec: ["ip addr add 10.0.0.1/24 dev port0", "echo run >> /runs"]}
  b: {template: beacon, exec: ["ip addr add 10.0.0.2/24 dev port1"]}
links:
  - ["a:port0", "b:port1"]
`;
    await local.deploy("/own", labOf(yaml));
    const node = async (name: string) => (await local.session.status("/own")).nodes.find((one) => one.name === name);
    const runs = () =>
      eventually(
        "a runs",
        60_000,
        () => node("a"),
        (one) => one?.status === "running",
      );
    expect(await runs()).toMatchObject({ ready: false });
    expect((await local.exec("/own", "a", "cat", "/greeting", "/runs")).stdout).toBe("bye 3 env\nrun\n");
    await eventually(
      "a reaches b",
      60_000,
      () => local.exec("/own", "a", "ping", "-c", "1", "-W", "1", "10.0.0.2"),
      ({ code }) => code === 0,
    );
    await local.exec("/own", "a", "touch", "/ready");
    await eventually(
      "a is ready",
      60_000,
      () => node("a"),
      (one) => one?.ready === true,
    );

    // exec runs at every start, on the same disk, and on the new one after a wipe.
    const power = async (...steps: readonly object[]) => {
      const operations = steps.map((step, i) => ({ id: `${i}`, of: "a", step })) as never;
      await local.session.apply("/own", operations, { ids: local.ids("/own"), step: () => undefined });
      await runs();
      return (await local.exec("/own", "a", "cat", "/runs")).stdout;
    };
    const stop = { do: "stop", node: "a", mode: 1 };
    expect(await power(stop, { do: "start", node: "a" })).toBe("run\nrun\n");
    expect(await power(stop, { do: "wipe", node: "a" }, { do: "start", node: "a" })).toBe("run\n");
    await local.deploy("/own", null);
  });

  test("reports an invalid template file once, with line and hint, and keeps the others", async () => {
    const file = join(directory, "broken.yaml");
    await writeFile(file, mine.replace("id: beacon", "id: broken").replace("links: live", "link: live"));
    await writeFile(join(directory, "good.yaml"), mine.replace("id: beacon", "id: good"));
    await listed("good");
    expect(local.warnings.filter((text) => text.startsWith(`${file}:`))).toEqual([
      `${file}:17:1: unknown key "link"; did you mean "links"?`,
      `${file}:1:1: key "links" is missing in the file`,
    ]);
    expect((await local.session.templates()).some(({ id }) => id === "broken")).toBe(false);
    await rm(file);
  });
});
