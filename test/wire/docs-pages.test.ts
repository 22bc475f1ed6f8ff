import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadPages } from "../../src/server/http/pages.ts";
import { RawClient } from "./raw-client.ts";
import { type Served, serve } from "./served.ts";

/** The documentation over HTTPS. */

let served: Served;
let client: RawClient;

beforeAll(async () => {
  const docs = await loadPages(join(import.meta.dirname, "../../dist/docs"));
  if (docs === undefined) throw new Error("the documentation is not built: npm run web");
  served = await serve({ server: { docs: async () => docs } });
  client = new RawClient(served.url);
});
afterAll(async () => {
  client[Symbol.dispose]();
  await served[Symbol.asyncDispose]();
});

test("pages, pictures, the script and the search are for everybody, under the strict policy", async () => {
  const expected = {
    "/docs/": "text/html; charset=utf-8",
    "/docs/tutorial.html": "text/html; charset=utf-8",
    "/docs/how-to/capture-packets.html": "text/html; charset=utf-8",
    "/docs/docs.js": "text/javascript; charset=utf-8",
    "/docs/docs.css": "text/css; charset=utf-8",
    "/docs/search.json": "application/json",
    "/docs/img/topology.png": "image/png",
  };
  for (const [path, type] of Object.entries(expected)) {
    const { status, headers } = await client.get(path, { bearer: null });
    expect([path, status, headers["content-type"], headers["cache-control"]]).toEqual([path, 200, type, "no-cache"]);
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
  }
});

test("the address without a slash leads to the index, and an unknown page is not found", async () => {
  const { status, headers } = await client.get("/docs", { bearer: null });
  expect([status, headers["location"]]).toEqual([302, "/docs/"]);
  for (const path of ["/docs/nothing.html", "/docs/..%2fweb/index.html", "/docs/.digest"]) {
    const answer = await client.get(path, { bearer: null });
    expect([path, answer.status, answer.json.code]).toEqual([path, 404, "not_found"]);
  }
});

test("a documentation that cannot be read is an error of that request, and is read again at the next one", async () => {
  const built = await loadPages(join(import.meta.dirname, "../../dist/docs"));
  const results = [() => Promise.reject(new Error("EIO")), async () => built];
  await using other = await serve({ server: { docs: () => results.shift()!() } });
  using own = new RawClient(other.url);
  expect((await own.get("/docs/", { bearer: null })).status).toBe(500);
  expect((await own.get("/docs/", { bearer: null })).status).toBe(200);
  expect((await own.get("/docs/links.html", { bearer: null })).status).toBe(200);
});

test("a service without built documentation answers not_found", async () => {
  await using other = await serve({ server: { docs: async () => undefined } });
  using own = new RawClient(other.url);
  const { status, json } = await own.get("/docs/", { bearer: null });
  expect([status, json.code]).toEqual([404, "not_found"]);
});
