import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type SelfSigned, selfSigned } from "../../../../../test/self-signed.ts";
import { testedProgram } from "../../../../files/tested-program.fixture.ts";
import { findImages } from "../../images/images.ts";
import { localPaths } from "../../machine/paths.ts";
import { Pulls } from "../../registries/pulls.ts";
import { json, sha256 } from "./archive.fixture.ts";
import { failure, imageOf, pullTest } from "./pull.fixture.ts";
import type { PushedImage } from "./registry.fixture.ts";

/** A registry with faults that a real one does not make. Everything else is tested on Debian's docker-registry (pull.test.ts). */

const at = pullTest();
const servers: { close(): unknown; closeAllConnections(): void }[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Faulty {
  readonly host: string;
  /** "METHOD path" of each request, with its Range and Authorization. */
  readonly requests: { readonly path: string; readonly range: string | undefined; readonly authorization: string | undefined }[];
}

type Handler = (request: IncomingMessage, response: ServerResponse, data: Buffer | undefined) => boolean;

/** Starts a server on loopback with one image, a:1. `handle` returns whether it has answered. */
async function faulty(image: PushedImage, handle: Handler = () => false, tls?: SelfSigned): Promise<Faulty> {
  const descriptor = (mediaType: string, data: Buffer) => ({ mediaType, digest: `sha256:${sha256(data)}`, size: data.length });
  const manifest = json({
    schemaVersion: 2,
    config: descriptor("application/vnd.oci.image.config.v1+json", image.config),
    layers: image.layers.map((layer) => descriptor("application/vnd.oci.image.layer.v1.tar+gzip", layer)),
  });
  const contents = new Map<string, Buffer>([["/v2/a/manifests/1", manifest]]);
  for (const blob of [...image.layers, image.config]) contents.set(`/v2/a/blobs/sha256:${sha256(blob)}`, blob);
  const requests: Faulty["requests"] = [];
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
  function answer(request: IncomingMessage, response: ServerResponse): void {
    const { range, authorization } = request.headers;
    requests.push({ path: request.url ?? "", range, authorization });
    const data = contents.get(request.url ?? "");
    if (handle(request, response, data)) return;
    if (data === undefined) response.writeHead(404).end();
    else if (range === undefined)
      response.writeHead(200, { "Content-Length": data.length, "Content-Type": "application/vnd.oci.image.manifest.v1+json" }).end(data);
    else {
      const start = Number(/^bytes=(\d+)-$/.exec(range)?.[1]);
      response.writeHead(206, { "Content-Range": `bytes ${start}-${data.length - 1}/${data.length}` }).end(data.subarray(start));
    }
  }
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  if (tls !== undefined) writeFileSync(join(at.state, "ca.pem"), tls.cert);
  at.use(host, tls === undefined ? { plainHttp: true } : { ca: join(at.state, "ca.pem") });
  return { host, requests };
}

const isBlob = (request: IncomingMessage) => request.url?.includes("/blobs/") === true;
const image = imageOf(["f", randomBytes(150_000).toString("base64")]);
const layer = image.layers[0]!;
const isLayer = (request: IncomingMessage) => request.url?.endsWith(sha256(layer)) === true;

/** Waits until so many bytes of the layer are on disk. */
async function partOf(bytes: number): Promise<void> {
  const part = `${sha256(layer)}.part`;
  await vi.waitUntil(() => at.downloads().includes(part) && statSync(join(at.images, ".pull", part)).size === bytes, { timeout: 40_000 });
}

describe("a download", () => {
  test("that breaks again and again continues where it ended", async () => {
    let cuts = 0;
    const { host, requests } = await faulty(image, (request, response, data) => {
      if (!isLayer(request) || cuts === 3) return false;
      cuts++;
      const start = Number(/\d+/.exec(request.headers.range ?? "")?.[0] ?? 0);
      response.writeHead(start === 0 ? 200 : 206, {
        "Content-Length": data!.length - start,
        "Content-Range": `bytes ${start}-${data!.length - 1}/${data!.length}`,
      });
      response.write(data!.subarray(start, start + 20_000));
      // A connection that ends at once may lose what it has sent.
      void partOf(start + 20_000).then(() => response.destroy());
      return true;
    });
    await at.pull(`${host}/a:1`);
    const starts = requests
      .filter(({ path }) => path.endsWith(sha256(layer)))
      .map(({ range }) => Number(/\d+/.exec(range ?? "")?.[0] ?? 0));
    expect(starts).toHaveLength(4);
    expect(starts.every((start, i) => i === 0 || start > starts[i - 1]!)).toBe(true);
    expect(at.downloads()).toEqual([]);
  });

  test("of a killed program is continued by the next one", async () => {
    let stalls = true;
    const { host, requests } = await faulty(image, (request, response, data) => {
      if (!isLayer(request) || !stalls) return false;
      response.writeHead(200, { "Content-Length": data!.length }).write(data!.subarray(0, 60_000));
      return true;
    });
    writeFileSync(join(at.state, "registries.yaml"), `registries: {"${host}": {plain-http: true}}`);
    const env = { ...process.env, LABWRIGHT_STATE_DIR: at.state, LABWRIGHT_IMAGE_DIR: at.images };
    const child = spawn(process.execPath, [testedProgram("hosts/local/containers/main"), "pull", `${host}/a:1`], { env, stdio: "ignore" });
    const ended = once(child, "exit");
    await partOf(60_000);
    child.kill("SIGKILL");
    await ended;
    expect(await findImages(at.images)).toEqual([]);
    stalls = false;
    await at.pull(`${host}/a:1`);
    expect(requests.at(-1)?.range).toBe("bytes=60000-");
  });

  test("with a wrong digest is refused, and leaves nothing", async () => {
    const { host } = await faulty(image, (request, response, data) => {
      if (!isLayer(request)) return false;
      response.writeHead(200).end(Buffer.from(data!).fill(0, 100, 110));
      return true;
    });
    expect(await failure(at.pull(`${host}/a:1`))).toMatchObject({
      code: "digest_mismatch",
      message: expect.stringContaining(sha256(layer)),
    });
    expect([at.downloads(), at.leftWork(), await findImages(at.images)]).toEqual([[], [], []]);
  });

  test("that is longer than the manifest says ends there", async () => {
    const { host } = await faulty(image, (request, response, data) => {
      if (!isLayer(request)) return false;
      response.writeHead(200).end(Buffer.concat([data!, Buffer.alloc(5_000_000)]));
      return true;
    });
    expect(await failure(at.pull(`${host}/a:1`))).toMatchObject({ code: "digest_mismatch" });
    expect(at.downloads()).toEqual([]);
  });

  test("of a server that only fails is given up, with the server's name", async () => {
    const { host, requests } = await faulty(image, (request, response) => {
      if (isLayer(request)) response.writeHead(503).end();
      return isLayer(request);
    });
    expect(await failure(at.pull(`${host}/a:1`))).toMatchObject({ code: "unreachable", message: `${host} failed with status 503` });
    expect(requests.filter(({ path }) => path.endsWith(sha256(layer)))).toHaveLength(6);
  });

  test("onto a full disk fails with a clear error, and leaves no part", async () => {
    if (process.getuid?.() !== 0) return;
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", at.images]);
    try {
      const { host } = await faulty(imageOf(["f", randomBytes(900_000).toString("base64")]));
      expect(await failure(at.pull(`${host}/a:1`, { reserve: 0 }))).toMatchObject({ code: "disk_full" });
      // The size in the manifest is true here; a disk that others fill meanwhile is found by the write.
      const filler = join(at.images, "filler");
      const { host: other } = await faulty(image, (request) => {
        if (isLayer(request)) writeFileSync(filler, Buffer.alloc(180_000));
        return false;
      });
      expect(await failure(at.pull(`${other}/a:1`, { reserve: 0 }))).toMatchObject({
        code: "disk_full",
        hint: expect.stringContaining("image prune"),
      });
      expect([at.downloads(), at.leftWork()]).toEqual([[], []]);
    } finally {
      execFileSync("umount", [at.images]);
    }
  });
});

describe("credentials", () => {
  test("are exchanged for a token, which is not sent to the server that a blob is redirected to", async () => {
    const store = await faulty(image);
    const tokens = await faulty(image, (_request, response) => {
      response.writeHead(200).end(json({ token: "t0k3n", expires_in: 60 }));
      return true;
    });
    const registry = await faulty(image, (request, response) => {
      if (request.headers.authorization !== "Bearer t0k3n") {
        response.writeHead(401, { "WWW-Authenticate": `Bearer realm="http://${tokens.host}/token",service="reg"` }).end();
        return true;
      }
      if (isBlob(request)) response.writeHead(307, { Location: `http://${store.host}${request.url}` }).end();
      return isBlob(request);
    });
    await at.login(registry.host, "ann", "secret");
    await at.pull(`${registry.host}/a:1`);
    const basic = `Basic ${Buffer.from("ann:secret").toString("base64")}`;
    expect(tokens.requests[0]).toMatchObject({ path: "/token?service=reg&scope=repository%3Aa%3Apull", authorization: basic });
    expect(store.requests.length).toBeGreaterThan(0);
    expect(store.requests.map(({ authorization }) => authorization)).toEqual(store.requests.map(() => undefined));
    expect(registry.requests.some(({ authorization }) => authorization === basic)).toBe(false);
  });

  test("appear in no error and in no file that others can read", async () => {
    const { host } = await faulty(image, (_request, response) => {
      response.writeHead(401, { "WWW-Authenticate": `Basic realm="x"` }).end("secret?");
      return true;
    });
    await at.login(host, "ann", "s3cr3t-password");
    const refusal = await failure(at.pull(`${host}/a:1`));
    expect(`${refusal.message} ${refusal.hint}`).not.toContain("s3cr3t");
    const readable = readdirSync(at.state).filter((name) => (statSync(join(at.state, name)).mode & 0o077) !== 0);
    expect(readable).not.toContain("registry-credentials.json");
    execFileSync("chmod", ["644", join(at.state, "registry-credentials.json")]);
    expect(await failure(at.pull(`${host}/a:1`))).toMatchObject({ code: "not_allowed", hint: expect.stringContaining("chmod 600") });
  });

  test.each([
    [
      "a token server",
      (response: ServerResponse, to: string) => response.writeHead(401, { "WWW-Authenticate": `Bearer realm="http://${to}/token"` }),
    ],
    ["a redirect", (response: ServerResponse, to: string) => response.writeHead(302, { Location: `http://${to}/` })],
  ])("of a registry with TLS never leave it by %s without TLS", async (_what, lead) => {
    const other = await faulty(image);
    const registry = await faulty(image, (_request, response) => lead(response, other.host).end() === response, selfSigned());
    await at.login(registry.host, "ann", "secret");
    expect(await failure(at.pull(`${registry.host}/a:1`))).toMatchObject({
      code: "not_allowed",
      message: `${registry.host} refers to ${other.host} without TLS: nothing was sent there`,
    });
    expect(other.requests).toEqual([]);
  });
});

test("labs that need the same image share one pull, which ends with the last of them", async () => {
  let open: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { host, requests } = await faulty(image, (request, response, data) => {
    if (!isLayer(request)) return false;
    void gate.then(() => response.writeHead(200, { "Content-Length": data!.length }).end(data));
    return true;
  });
  writeFileSync(join(at.state, "registries.yaml"), `registries: {"${host}": {plain-http: true}}`);
  mkdirSync(at.images, { recursive: true });
  const paths = { ...localPaths(process.env, 0), state: at.state, images: at.images };
  const pulls = new Pulls(paths, testedProgram("hosts/local/containers/main"));
  const stop = new AbortController();
  const texts: string[] = [];
  const pull = { reference: `${host}/a:1`, always: false, by: "ann" };
  const first = pulls.pull(pull, { signal: stop.signal, say: (text) => texts.push(text) });
  const second = pulls.pull({ ...pull, by: "bob" }, { signal: new AbortController().signal, say: () => {} });
  first.catch(() => undefined);
  await vi.waitUntil(() => requests.some(({ path }) => path.endsWith(sha256(layer))), { timeout: 40_000 });
  stop.abort(new Error("ann has cancelled"));
  await expect(first).rejects.toThrow("ann has cancelled");
  open();
  await second;
  expect(requests.filter(({ path }) => path.endsWith(sha256(layer)))).toHaveLength(1);
  expect((await findImages(at.images)).map(({ pulled }) => pulled?.by)).toEqual(["ann"]);
  await expect(
    pulls.pull({ reference: `${host}/none:1`, always: false, by: "ann" }, { signal: new AbortController().signal, say: () => {} }),
  ).rejects.toMatchObject({
    code: "image_pull_failed",
    data: { image: `${host}/none:1`, reason: "not_found" },
  });
  await pulls.close();
});
