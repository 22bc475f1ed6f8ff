import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Failure } from "../../contract/errors.ts";
import { ifThere } from "../../files/if-there.ts";
import { sendFailure } from "./routes.ts";

interface PageFile {
  readonly type: string;
  readonly body: Buffer;
  /** Compresses the body at the first call; `undefined` if that saves nothing. */
  readonly zipped: () => Promise<Buffer | undefined>;
  readonly etag: string;
  /** The file name contains a hash of the content, so that browsers may cache the file forever. */
  readonly isImmutable: boolean;
}

/** Web pages: path below /ui/ → file. */
export type Pages = ReadonlyMap<string, PageFile>;

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".png": "image/png",
};

/** Allows only Labwright's own scripts, styles and connections, and no embedding in frames. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

/** Reads the built pages into memory; they are few and small. `undefined` if the pages were not built. */
export async function loadPages(directory: string): Promise<Pages | undefined> {
  const names = await ifThere(readdir(directory, { recursive: true }));
  if (names === undefined) return undefined;
  const pages = new Map<string, PageFile>();
  for (const name of names) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const body = await readFile(join(directory, name));
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    pages.set(name, {
      type,
      body,
      zipped: onFirstCall(() => compressed(body)),
      etag,
      isImmutable: name.startsWith("assets/"),
    });
  }
  return pages.has("index.html") ? pages : undefined;
}

async function compressed(body: Buffer): Promise<Buffer | undefined> {
  const zipped = await promisify(gzip)(body, { level: 9 });
  return zipped.length < body.length ? zipped : undefined;
}

/** Returns the promise of the first call at each later one, unless it was rejected. */
function onFirstCall<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

/** Serves the pages below /ui/. A path that is not a file gets index.html: the application interprets the path in the browser. */
export function addPages(app: FastifyInstance, pages: Pages): void {
  const method = ["GET", "HEAD"];
  for (const url of ["/", "/ui"]) app.route({ method, url, handler: async (_request, reply) => reply.redirect("/ui/", 302) });
  app.route({
    method,
    url: "/ui/*",
    handler: async (request, reply) => {
      const name = (request.params as { readonly "*": string })["*"];
      const file = pages.get(name);
      if (file === undefined && name.startsWith("assets/")) return reply.callNotFound();
      return send(file ?? pages.get("index.html")!, request, reply);
    },
  });
  refuseChanges(app, "/ui/*");
}

/** Serves the documentation below /docs/. It is loaded at the first request, so that the start of the service does not wait for it. */
export function addDocs(app: FastifyInstance, load: () => Promise<Pages | undefined>): void {
  const docs = onFirstCall(load);
  const method = ["GET", "HEAD"];
  app.route({ method, url: "/docs", handler: async (_request, reply) => reply.redirect("/docs/", 302) });
  app.route({
    method,
    url: "/docs/*",
    handler: async (request, reply) => {
      const file = (await docs())?.get((request.params as { readonly "*": string })["*"] || "index.html");
      return file === undefined ? reply.callNotFound() : send(file, request, reply);
    },
  });
  refuseChanges(app, "/docs/*");
}

function refuseChanges(app: FastifyInstance, url: string): void {
  app.route({
    method: ["POST", "PUT", "PATCH", "DELETE"],
    url,
    handler: async (request, reply) => {
      reply.header("Allow", "GET");
      return sendFailure(new Failure("method_not_allowed", "pages allow only GET"), request, reply);
    },
  });
}

async function send(
  { type, body, zipped, etag, isImmutable }: PageFile,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  reply.headers({
    "Content-Type": type,
    "Content-Security-Policy": policy,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    Vary: "Accept-Encoding",
    ETag: etag,
  });
  if (request.headers["if-none-match"] === etag) return reply.code(304).send();
  const small = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? "")) ? await zipped() : undefined;
  return reply.headers(small === undefined ? {} : { "Content-Encoding": "gzip" }).send(small ?? body);
}
