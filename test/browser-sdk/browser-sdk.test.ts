import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import { startServer } from "../../src/server/start.ts";
import { fingerprintOf } from "../../src/server/tls/certificate.ts";
import { createService } from "../../src/service/create-service.ts";
import { sqliteStore } from "../../src/service/store/sqlite.ts";
import { testBrowser } from "../browser/browser.fixture.ts";
import { selfSigned } from "../self-signed.ts";
import { serve, users } from "../wire/served.ts";

/** The browser SDK, bundled as for a page, and run with only the globals of browsers. */

let folder: string;
let code: string;
let imports: readonly string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "labwright-browser-"));
  const { build } = await import("vite");
  const built = await build({
    configFile: false,
    logLevel: "silent",
    root: import.meta.dirname,
    build: { write: false, minify: false, target: "es2023", lib: { entry: join(import.meta.dirname, "page.ts"), formats: ["cjs"] } },
  });
  const [output] = [built].flat() as { readonly output: readonly { readonly code: string; readonly imports: readonly string[] }[] }[];
  code = output!.output[0]!.code;
  imports = output!.output.flatMap((chunk) => chunk.imports ?? []);
});
afterAll(() => rm(folder, { recursive: true }));

test("the bundle contains no Node module, and no replacement for one", () => {
  expect(imports).toEqual([]);
  expect(code.match(/\brequire\(|\bnode:[a-z_]+|\bBuffer\b|(?<!host-)\bprocess\b|__vite-browser-external/g)).toBeNull();
});

/** The globals of web pages that the SDK may use; the sandbox has no others. */
const webGlobals =
  "fetch AbortController AbortSignal URL URLSearchParams TextDecoder TextEncoder ReadableStream Headers Response WebSocket performance setTimeout clearTimeout";

test("the SDK works against the real service in a sandbox without Node", async () => {
  const { cert, key } = selfSigned();
  const host = memoryHost({ users });
  const service = createService({ host, store: sqliteStore(":memory:"), log: () => {}, version: "1" });
  const server = await startServer({ service, certificate: { certificate: cert, key, fingerprint: fingerprintOf(cert) }, version: "1" });
  try {
    await writeFile(join(folder, "cert.pem"), cert);
    await writeFile(join(folder, "page.cjs"), code);
    await writeFile(
      join(folder, "world.mjs"),
      `import { createContext, runInContext } from "node:vm";
import { readFileSync } from "node:fs";
const names = ${JSON.stringify(webGlobals.split(" "))};
const world = createContext({ exports: {}, ...Object.fromEntries(names.map((name) => [name, globalThis[name]])) });
runInContext(readFileSync(process.argv[2], "utf8"), world);
const missing = runInContext("[typeof require, typeof process, typeof Buffer].join()", world);
console.log(JSON.stringify({ missing, ...(await world.exports.page(process.argv[3])) }));
`,
    );
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "world.mjs"), join(folder, "page.cjs"), server.url], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, "cert.pem") },
      timeout: 150_000,
    });
    expect(JSON.parse(stdout)).toEqual({ missing: "undefined,undefined,undefined", ...seen });
  } finally {
    await server.close();
    await service.close();
    await host.close();
  }
});

test("the SDK works in a browser, also with a cookie instead of the token, and for a console's WebSocket", async () => {
  await using served = await serve();
  await using browser = await testBrowser();
  await using opened = await browser.open();
  const { page } = opened;
  // Any response of the service gives a page with its origin.
  await page.goto(`${served.url}/api/v1/health`);
  const run = (call: string) => page.evaluate(`(async () => { const exports = {}; ${code}; return await exports.${call}; })()`);
  expect(await run(`page(${JSON.stringify(served.url)})`)).toEqual(seen);
  expect(await run("consoleByCookie()")).toContain("over here");
  // Chromium logs each refused call: 401, 404, 409, and the unreachable address.
  for (const refused of [/409/, /404/, /401/, /ERR_/, /another host: https:\/\/127\.0\.0\.1:1\//]) await opened.expectComplaint(refused);
});

/** The result of the page, in each environment. */
const seen = {
  signedIn: true,
  creates: 2,
  nodes: 1,
  progressed: true,
  seen: "/page",
  frr: true,
  refused: [409, "lab_exists", "string"],
  gone: [404, "lab_not_found", "string"],
  stranger: [401, "unauthenticated", "string"],
  away: [0, "host_unreachable", "undefined"],
};
