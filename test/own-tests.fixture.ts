import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect } from "vitest";
import { type TestLocalHost, testLocalHost } from "../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "./wire/raw-client.ts";
import { type Served, serve } from "./wire/served.ts";

const directory = fileURLToPath(new URL("../labs", import.meta.url));
const texts = new Map(
  await Promise.all(
    (await readdir(directory))
      .filter((file) => file.endsWith(".yaml"))
      .map(async (file) => [file.replace(/\.yaml$/, ""), await readFile(join(directory, file), "utf8")] as const),
  ),
);
const tested = [...texts].filter(([, yaml]) => /^tests:/m.test(yaml));
const hasOwnKernels = (yaml: string) => yaml.includes("kernel: own");

/** The example labs that contain tests, by the kernel of their nodes. */
export const sharedKernelLabs = tested.filter(([, yaml]) => !hasOwnKernels(yaml)).map(([name]) => name);
export const ownKernelLabs = tested.filter(([, yaml]) => hasOwnKernels(yaml)).map(([name]) => name);

async function filesOf(name: string): Promise<Record<string, string>> {
  const entries = await readdir(join(directory, name), { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(await Promise.all(paths.map(async (path) => [relative(directory, path), await readFile(path, "utf8")])));
}

/** Starts a service on the embedded host for the tests of a file. Returns a function that deploys an example lab, expects its tests to pass, and destroys it. */
export function labTester(): (name: string) => Promise<void> {
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
  return async (name) => {
    const deployed = await client.post("/api/v1/projects/deploy", { yaml: texts.get(name), files: await filesOf(name) });
    expect([name, deployed.status, deployed.json]).toEqual([name, 200, expect.anything()]);
    const { json } = await client.post("/api/v1/projects/test", { lab: `/${name}` });
    const results = json.data.tests as readonly { readonly name: string; readonly outcome: string; readonly message?: string }[];
    expect(results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
    expect(results.length).toBeGreaterThan(0);
    expect((await client.post("/api/v1/projects/destroy", { lab: `/${name}` })).status).toBe(200);
  };
}
