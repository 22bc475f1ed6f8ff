import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestLocalHost, testLocalHost } from "../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "./wire/raw-client.ts";
import { type Served, serve } from "./wire/served.ts";

/** The tests that example labs contain, run on the embedded host as a user runs them. */

const directory = fileURLToPath(new URL("../labs", import.meta.url));
const texts = new Map(
  await Promise.all(
    (await readdir(directory))
      .filter((file) => file.endsWith(".yaml"))
      .map(async (file) => [file.replace(/\.yaml$/, ""), await readFile(join(directory, file), "utf8")] as const),
  ),
);
/** Without hardware virtualisation, labs whose nodes have kernels of their own take much processor time: only the smallest is always run. */
const all = process.env["LABWRIGHT_ALL_LABS"] === "1";
const isCheap = (name: string, yaml: string) => all || name === "vrf-lite" || !yaml.includes("kernel: own");
const tested = [...texts].filter(([name, yaml]) => /^tests:/m.test(yaml) && isCheap(name, yaml)).map(([name]) => name);

async function filesOf(name: string): Promise<Record<string, string>> {
  const entries = await readdir(join(directory, name), { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(await Promise.all(paths.map(async (path) => [relative(directory, path), await readFile(path, "utf8")])));
}

describe.skipIf(process.getuid?.() !== 0)("the tests of example labs", () => {
  let local: TestLocalHost;
  let served: Served;
  let client: RawClient;
  beforeAll(async () => {
    local = await testLocalHost();
    served = await serve({ host: local.host });
    client = await served.signIn("admin", "test");
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
    await served[Symbol.asyncDispose]();
  });

  test("exist for routing, filtering, redundancy, multicast and impaired links", () => {
    expect(tested).toEqual(
      expect.arrayContaining(["bgp-clos", "firewall-nat", "impaired-wan", "multicast", "office", "ospf-areas", "vrf-lite", "vrrp"]),
    );
  });

  const passes = async (name: string): Promise<void> => {
    const deployed = await client.post("/api/v1/projects/deploy", { yaml: texts.get(name), files: await filesOf(name) });
    expect([name, deployed.status, deployed.json]).toEqual([name, 200, expect.anything()]);
    const { json } = await client.post("/api/v1/projects/test", { lab: `/${name}` });
    const results = json.data.tests as readonly { readonly name: string; readonly outcome: string; readonly message?: string }[];
    expect(results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
    expect(results.length).toBeGreaterThan(0);
    expect((await client.post("/api/v1/projects/destroy", { lab: `/${name}` })).status).toBe(200);
  };
  const emulated = tested.filter((name) => texts.get(name)?.includes("kernel: own"));

  // All at once: routing protocols mostly wait.
  test.concurrent.each(tested.filter((name) => !emulated.includes(name)))("%s passes", { timeout: 300_000 }, passes);
  // Emulated processors do not wait, and starve beside the others.
  test.each(emulated)("%s passes", { timeout: 300_000 }, passes);
});
