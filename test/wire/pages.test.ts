import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadPages, type Pages } from "../../src/server/http/pages.ts";
import { RawClient } from "./raw-client.ts";
import { type Served, serve } from "./served.ts";

let pages: Pages;
let served: Served;
let client: RawClient;

beforeAll(async () => {
  const built = await loadPages(join(import.meta.dirname, "../../dist/web"));
  if (built === undefined) throw new Error("the web pages are not built: npm run web");
  pages = built;
  served = await serve({ server: { pages } });
  client = new RawClient(served.url);
});
afterAll(async () => {
  client[Symbol.dispose]();
  await served[Symbol.asyncDispose]();
});

test("every address below /ui/ that is no file shows the application, to whoever asks", async () => {
  for (const path of ["/ui/", "/ui/new", "/ui/labs/courses/bgp-1?view=topology", "/ui/labs/..%2f..%2fetc/passwd"]) {
    const { status, headers, text } = await client.get(path, { bearer: null });
    expect([path, status, headers["content-type"]]).toEqual([path, 200, "text/html; charset=utf-8"]);
    expect(text).toContain('<div id="app">');
    expect(headers["cache-control"]).toBe("no-cache");
    expect(headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  }
});

test("the front door leads to the pages", async () => {
  for (const path of ["/", "/ui"]) {
    const { status, headers } = await client.get(path, { bearer: null });
    expect([status, headers["location"]]).toEqual([302, "/ui/"]);
  }
});

test("the policy lets nothing in that is not ours, and no one frame us", async () => {
  const { headers } = await client.get("/ui/", { bearer: null });
  const policy = String(headers["content-security-policy"]);
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]) {
    expect(policy.split("; ")).toContain(part);
  }
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect(headers).toMatchObject({ "referrer-policy": "no-referrer", "x-content-type-options": "nosniff" });
});

test("files last for ever under their own names, are not sent twice, and others are not there", async () => {
  const script = [...pages.keys()].find((name) => name.endsWith(".js"))!;
  const first = await client.get(`/ui/${script}`, { bearer: null });
  expect(first.headers).toMatchObject({
    "content-type": "text/javascript; charset=utf-8",
    "cache-control": expect.stringContaining("immutable"),
  });
  const again = await client.get(`/ui/${script}`, { bearer: null, headers: { "If-None-Match": String(first.headers["etag"]) } });
  expect([again.status, again.text]).toEqual([304, ""]);
  expect((await client.get("/ui/assets/none.js", { bearer: null })).json).toMatchObject({ ok: false, code: "not_found" });
  expect((await client.call("POST", "/ui/", { bearer: null, body: "" })).status).toBe(405);
});

test("the first load weighs at most 120 kB, and names no other host", () => {
  const index = pages.get("index.html")!.body.toString();
  const linked = [...index.matchAll(/(?:src|href)="\/ui\/([^"]+)"/g)].map(([, name = ""]) => name);
  expect(linked.length).toBeGreaterThanOrEqual(2);
  const weight = [Buffer.from(index), ...linked.map((name) => pages.get(name)!.body)].reduce((sum, body) => sum + gzipSync(body).length, 0);
  expect(weight).toBeLessThanOrEqual(120_000);
  expect(index).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
});
