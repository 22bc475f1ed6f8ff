import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { selfSigned } from "../../../../../test/self-signed.ts";
import { freePort } from "../../testing/free-port.fixture.ts";
import { json, sha256 } from "./archive.fixture.ts";

/** The only user of a private registry. */
export const pusher = { user: "ci", password: "let-me-in" };
/** Of that password: bcrypt, 16 rounds. */
const htpasswd = "ci:$2b$04$.W1L9Yw58PQUlVw/xmxlNuSKCf0VC7dNCDLqzavqbRw9rs3nVeRYW\n";

export interface PushedImage {
  /** Packed, the lowest first. */
  readonly layers: readonly Buffer[];
  readonly config: Buffer;
}

/** Debian's docker-registry on a port of its own, with its files in a directory. */
export class TestRegistry {
  readonly host: string;
  /** The PEM file of its certificate. */
  readonly ca: string;
  readonly directory: string;
  readonly #scheme: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #process: ChildProcess;

  private constructor(host: string, directory: string, scheme: string, headers: Readonly<Record<string, string>>, process: ChildProcess) {
    [this.host, this.directory, this.#scheme, this.#headers, this.#process] = [host, directory, scheme, headers, process];
    this.ca = join(directory, "certificate.pem");
  }

  /** Starts a registry with TLS and a password, or one without both. */
  static async start(directory: string, kind: "private" | "plain" = "private"): Promise<TestRegistry> {
    const port = await freePort();
    await mkdir(directory, { recursive: true });
    const at = (name: string) => join(directory, name);
    const { cert, key } = selfSigned();
    await writeFile(at("certificate.pem"), cert);
    await writeFile(at("key.pem"), key, { mode: 0o600 });
    await writeFile(at("htpasswd"), htpasswd);
    const tls = { certificate: at("certificate.pem"), key: at("key.pem") };
    const config = {
      version: 0.1,
      log: { level: "error" },
      storage: { filesystem: { rootdirectory: at("storage") } },
      http: { addr: `127.0.0.1:${port}`, secret: "of a test", ...(kind === "private" && { tls }) },
      ...(kind === "private" && { auth: { htpasswd: { realm: "test", path: at("htpasswd") } } }),
    };
    await writeFile(at("config.yml"), JSON.stringify(config));
    const process = spawn("docker-registry", ["serve", at("config.yml")], { stdio: ["ignore", "ignore", "pipe"] });
    let problem = "";
    process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      problem += text;
    });
    for (let left = 400; ; left--) {
      if (await listens(port)) break;
      if (left === 0 || process.exitCode !== null) throw new Error(`docker-registry does not listen: ${problem}`);
      await delay(25);
    }
    const headers =
      kind === "private" ? { Authorization: `Basic ${Buffer.from(`${pusher.user}:${pusher.password}`).toString("base64")}` } : {};
    return new TestRegistry(`127.0.0.1:${port}`, directory, kind === "private" ? "https" : "http", headers, process);
  }

  /** Pushes an image; `platforms` pushes an index of it for each platform. Returns the digest (hex) of what the tag names. */
  async push(name: string, { layers, config }: PushedImage, platforms?: readonly string[]): Promise<string> {
    const [repository = "", tag = "latest"] = name.split(":");
    for (const blob of [...layers, config]) await this.#blob(repository, blob);
    const descriptor = (mediaType: string, data: Buffer) => ({ mediaType, digest: `sha256:${sha256(data)}`, size: data.length });
    const manifest = json({
      schemaVersion: 2,
      mediaType: manifestType,
      config: descriptor("application/vnd.oci.image.config.v1+json", config),
      layers: layers.map((layer) => descriptor("application/vnd.oci.image.layer.v1.tar+gzip", layer)),
    });
    await this.#manifest(repository, platforms === undefined ? tag : `sha256:${sha256(manifest)}`, manifest, manifestType);
    if (platforms === undefined) return sha256(manifest);
    const index = json({
      schemaVersion: 2,
      mediaType: indexType,
      manifests: platforms.map((platform) => {
        const [os, architecture, variant] = platform.split("/");
        return { ...descriptor(manifestType, manifest), platform: { os, architecture, ...(variant !== undefined && { variant }) } };
      }),
    });
    await this.#manifest(repository, tag, index, indexType);
    return sha256(index);
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }

  async #blob(repository: string, data: Buffer): Promise<void> {
    const { headers } = await this.#call("POST", `/v2/${repository}/blobs/uploads/`, {});
    const place = new URL(headers.location ?? "", this.#base());
    place.searchParams.set("digest", `sha256:${sha256(data)}`);
    await this.#call("PUT", `${place.pathname}${place.search}`, { "Content-Type": "application/octet-stream" }, data);
  }

  async #manifest(repository: string, name: string, data: Buffer, type: string): Promise<void> {
    await this.#call("PUT", `/v2/${repository}/manifests/${name}`, { "Content-Type": type }, data);
  }

  #base(): string {
    return `${this.#scheme}://${this.host}`;
  }

  async #call(method: string, path: string, headers: Readonly<Record<string, string>>, body: Buffer = Buffer.alloc(0)): Promise<Answer> {
    const url = new URL(path, this.#base());
    const options = { method, headers: { ...this.#headers, ...headers, "Content-Length": body.length }, ca: await readFile(this.ca) };
    const request = this.#scheme === "https" ? httpsRequest(url, options) : httpRequest(url, options);
    request.end(body);
    const [response] = (await once(request, "response")) as [AsyncIterable<Buffer> & { statusCode: number; headers: IncomingHttpHeaders }];
    let text = "";
    for await (const part of response) text += String(part);
    if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`);
    return { headers: response.headers };
  }
}

interface Answer {
  readonly headers: IncomingHttpHeaders;
}

const manifestType = "application/vnd.oci.image.manifest.v1+json";
const indexType = "application/vnd.oci.image.index.v1+json";

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    // Nothing listens yet.
    return false;
  } finally {
    socket.destroy();
  }
}
