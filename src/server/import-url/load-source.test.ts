import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { selfSigned } from "../tls/self-signed.ts";
import { urlImports } from "./load-source.ts";
import { isPublicAddress } from "./public-address.ts";
import { parseUrlPattern, patternOf } from "./url-patterns.ts";

const seen: Readonly<Record<string, unknown>>[] = [];
const answer: RequestListener = ({ url = "", headers }, response) => {
  seen.push({ url, ...headers });
  const to = new URL(url, "http://x").searchParams.get("to");
  if (to !== null) response.writeHead(302, { location: to }).end();
  else if (url === "/large") response.end("x".repeat(5_000));
  else if (url === "/packed") response.writeHead(200, { "content-encoding": "gzip" }).end("x");
  else if (url === "/missing") response.writeHead(404).end();
  else if (url === "/cut") response.writeHead(200, { "content-length": "100" }).write("x", () => response.destroy());
  else if (url !== "/silent") response.end("graph { r1 -- h1 }");
};

let files: Server;
let other: Server;
let secure: Server;
let port = 0;

async function listening(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  const { certificate, key } = selfSigned({ names: ["127.0.0.1"], from: new Date(0), until: new Date("2100-01-01") });
  [files, other, secure] = await Promise.all([
    listening(createServer(answer)),
    listening(createServer(answer)),
    listening(createTlsServer({ cert: certificate, key }, answer)),
  ]);
  port = portOf(files);
});
afterAll(() => {
  for (const server of [files, other, secure]) {
    server.closeAllConnections();
    server.close();
  }
});

const addresses: Readonly<Record<string, readonly string[]>> = {
  "inside.example": ["10.1.2.3"],
  "mixed.example": ["93.184.215.14", "127.0.0.1"],
};
let asked: string[] = [];

function imports(...patterns: readonly string[]) {
  return urlImports({
    patterns: patterns.map(parseUrlPattern),
    timeMs: 500,
    bytes: 1_000,
    resolve: async (host) => {
      asked.push(host);
      return addresses[host] ?? Promise.reject(new Error("ENOTFOUND"));
    },
  });
}

const here = () => `http://127.0.0.1:${port}`;

test("a file of an allowed address is loaded, also after a redirect, without anything of the service", async () => {
  seen.length = 0;
  const { filename, bytes } = await imports(here()).load(`${here()}/?to=/labs/a%20b.dot%3Ftoken=1`, "ann");
  expect([filename, Buffer.from(bytes).toString()]).toEqual(["a_20b.dot", "graph { r1 -- h1 }"]);
  expect(seen.map(({ host, ...rest }) => [host, Object.keys(rest).sort()])).toEqual(
    Array.from({ length: 2 }, () => [`127.0.0.1:${port}`, ["accept", "accept-encoding", "connection", "url", "user-agent"]]),
  );
});

test.each([
  ["a host that is not allowed", () => "https://evil.example/x", "loaded only from"],
  ["another port", () => `http://127.0.0.1:${portOf(other)}/x`, "loaded only from"],
  ["another notation of a local address", () => `http://0x7f.1:${portOf(other)}/x`, "loaded only from"],
  ["a redirect to another port", () => `${here()}/?to=http://127.0.0.1:${portOf(other)}/x`, "loaded only from"],
  ["a redirect to metadata of a cloud", () => `${here()}/?to=http://169.254.169.254/latest`, "loaded only from"],
  ["a redirect to a file", () => `${here()}/?to=file:///etc/passwd`, "not an address that begins with https"],
  [
    "a redirect to itself for ever",
    () => `${here()}/?to=%3Fto=%253Fto=%25253Fto=%2525253Fto=%252525253Fto=%25252525253Fto=x`,
    "more than 5 redirects",
  ],
  ["a redirect with a password", () => `${here()}/?to=http://a:b@127.0.0.1:${port}/x`, "user name or password"],
  ["a password", () => `http://ann:secret@127.0.0.1:${port}/x`, "user name or password"],
  ["a name with a private address", () => "https://inside.example/x", "is not public"],
  ["a name with a public and a local address", () => "https://mixed.example/x", "is not public"],
  ["an unknown name", () => "https://none.example/x", "is not known"],
  ["a file that is too large", () => `${here()}/large`, "more than 1000 bytes"],
  ["a compressed answer", () => `${here()}/packed`, "compresses its answer"],
  ["a file that is not there", () => `${here()}/missing`, "status 404"],
  ["half a file", () => `${here()}/cut`, "cannot be loaded"],
  ["a server that does not answer", () => `${here()}/silent`, "too long"],
  ["a certificate of no authority", () => `https://127.0.0.1:${portOf(secure)}/x`, "cannot be loaded: "],
])("%s is refused", async (_name, url, message) => {
  asked = [];
  const load = imports(here(), "inside.example", "mixed.example", "none.example", `127.0.0.1:${portOf(secure)}`).load(url(), "ann");
  const failure = await load.then(
    () => expect.unreachable(),
    (error: unknown) => error as { readonly code: string; readonly message: string },
  );
  expect(failure.code).toBe("invalid_source");
  expect(failure.message).toContain(message);
  expect(failure.message).not.toMatch(/secret|token/);
  // A name is resolved once: the answer that was checked is the address of the connection.
  expect(asked.length).toBeLessThan(2);
});

test("patterns allow a host, its subdomains, or a port, and nothing that only looks like them", () => {
  const allows = (pattern: string, url: string) => patternOf([parseUrlPattern(pattern)], new URL(url)) !== undefined;
  expect(
    [
      ["git.example", "https://GIT.example./x"],
      ["*.example", "https://a.b.example/x"],
      ["git.example:8443", "https://git.example:8443/x"],
      ["*", "https://any.example/x"],
      ["[::1]:8443", "https://[::1]:8443/x"],
      ["http://git.example", "http://git.example/x"],
    ].filter(([pattern = "", url = ""]) => !allows(pattern, url)),
  ).toEqual([]);
  expect(
    [
      ["git.example", "http://git.example/x"],
      ["git.example", "https://git.example:8443/x"],
      ["git.example", "https://git.example.evil/x"],
      ["git.example", "https://evilgit.example/x"],
      ["*.example", "https://example/x"],
      ["*.example", "https://evilexample/x"],
      ["*", "https://127.0.0.1/x"],
      ["*", "http://any.example/x"],
      ["10.0.0.1", "https://10.0.0.2/x"],
    ].filter(([pattern = "", url = ""]) => allows(pattern, url)),
  ).toEqual([]);
  for (const wrong of ["", "https://", "a/b", "a@b", "*.*", "a.*.b", "ftp://a", "*.10.0.0.1", "a b"])
    expect(() => parseUrlPattern(wrong), wrong).toThrow("--import-url-allow takes a host");
});

test("private, local, reserved and embedded addresses are not public", () => {
  const closed = "0.0.0.0 10.0.0.1 100.64.0.1 127.0.0.1 169.254.169.254 172.31.0.1 192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255";
  const closed6 = ":: ::1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 2002:7f00:1:: 2001::1 2001:db8::1 fc00::1 fe80::1 ff02::1";
  expect([...closed.split(" "), ...closed6.split(" ")].filter(isPublicAddress)).toEqual([]);
  expect(["8.8.8.8", "172.32.0.1", "2606:4700::1111", "2a00:1450::1"].filter((one) => !isPublicAddress(one))).toEqual([]);
});

test("an answer with status 101 is refused at once, and its place is free again", async () => {
  const upgrading = createNetServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"));
  });
  await new Promise<void>((resolve) => upgrading.listen(0, "127.0.0.1", resolve));
  const from = `http://127.0.0.1:${(upgrading.address() as AddressInfo).port}`;
  const loads = imports(from);
  for (let count = 0; count < 5; count += 1) await expect(loads.load(from, "ann")).rejects.toThrow("the server answered with status 101");
  await new Promise((resolve) => upgrading.close(resolve));
});

test("one user takes half of the places at most", async () => {
  const silent = createNetServer((socket) => void socket.on("error", () => undefined).resume());
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const from = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const loads = imports(from, here());
  const waiting = [loads.load(from, "ann"), loads.load(from, "ann")];
  await expect(loads.load(from, "ann")).rejects.toMatchObject({
    code: "rate_limited",
    message: expect.stringContaining("you load 2 files"),
  });
  expect((await loads.load(`${here()}/labs/a.dot`, "bob")).filename).toBe("a.dot");
  for (const one of waiting) await expect(one).rejects.toThrow("takes too long to answer");
  await new Promise((resolve) => silent.close(resolve));
});
