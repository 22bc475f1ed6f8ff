import { createHash } from "node:crypto";
import type { ImageReference } from "../../../engine/model/image-reference.ts";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { mayLeadTo, type Scope, scopeOf } from "./address-scope.ts";
import type { Credential } from "./credentials.ts";
import { bodyOf, exchange, type Response, Unreachable } from "./exchange.ts";

/** One server with images: a registry, or a mirror of it. */
export interface Endpoint {
  /** Without a slash at its end. Its path is that of a mirror. */
  readonly base: string;
  /** For messages. */
  readonly host: string;
  /** PEM certificates. */
  readonly ca?: string;
  readonly credential?: Credential;
}

export interface ClientOptions {
  readonly signal: AbortSignal;
  /** Maximum silence of a server, ms. Default 60 s. */
  readonly silenceMs?: number;
}

/** A manifest or an index of manifests, as it was received. */
export interface ManifestBytes {
  /** SHA-256 (hex). */
  readonly digest: string;
  readonly mediaType: string;
  readonly data: Buffer;
}

const maxManifest = 4 * 1024 * 1024;
const maxRedirects = 5;

export const manifestTypes = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];

/** Reads one repository of a registry by the OCI distribution protocol. Throws ArchiveError; Unreachable if a later try may succeed. */
export class RegistryClient {
  readonly endpoint: Endpoint;
  readonly #repository: string;
  readonly #options: ClientOptions;
  #authorization: string | undefined;
  /** The scope of the registry's own address. Redirects and token servers may lead only to the same or a wider scope. */
  #scope: Scope | undefined;

  constructor(endpoint: Endpoint, repository: string, options: ClientOptions) {
    this.endpoint = endpoint;
    this.#repository = repository;
    this.#options = options;
  }

  /** Returns the manifest of a tag or digest. Its digest is checked. */
  async manifest({ tag, digest }: Pick<ImageReference, "tag" | "digest">): Promise<ManifestBytes> {
    const name = digest === undefined ? (tag ?? "latest") : `sha256:${digest}`;
    const { host } = this.endpoint;
    const { response, url } = await this.#get(`manifests/${name}`, { Accept: manifestTypes.join(", ") });
    const data = await bodyOf(response, url, maxManifest);
    if (response.status !== 200) throw refusal(response, host, `${this.#repository}:${name}`);
    const found = createHash("sha256").update(data).digest("hex");
    const promised = String(response.headers["docker-content-digest"] ?? `sha256:${found}`);
    if ((digest !== undefined && digest !== found) || promised !== `sha256:${found}`) {
      throw new ArchiveError(
        "digest_mismatch",
        `the manifest ${this.#repository}${digest === undefined ? ":" : "@"}${name} of ${host} does not match its digest`,
      );
    }
    return { digest: found, mediaType: String(response.headers["content-type"] ?? "").split(";", 1)[0] ?? "", data };
  }

  /** Returns the bytes of a blob from an offset on; the answer of a server without ranges begins at 0. Their digest is not checked. */
  async blob(digest: string, offset: number): Promise<{ readonly response: Response; readonly url: URL; readonly offset: number }> {
    const range = offset === 0 ? {} : { Range: `bytes=${offset}-` };
    const { response, url } = await this.#get(`blobs/sha256:${digest}`, range);
    const { status, headers } = response;
    if (status === 200) return { response, url, offset: 0 };
    const [, start] = /^bytes (\d+)-/.exec(String(headers["content-range"] ?? "")) ?? [];
    if (status === 206 && Number(start) === offset) return { response, url, offset };
    response.body.destroy();
    // The server refuses the range: what is there of the blob is not the beginning of it.
    if (status === 416 || status === 206) return this.blob(digest, 0);
    throw refusal(response, this.endpoint.host, `the blob sha256:${digest} of ${this.#repository}`);
  }

  /** Signs in. Returns whether the server accepts the credential; a server without sign-in accepts every one. */
  async ping(): Promise<boolean> {
    const url = new URL(`${new URL(this.endpoint.base).origin}/v2/`);
    const response = await this.#signedIn(url, {}, undefined);
    response.body.destroy();
    if (response.status >= 500) throw refusal(response, this.endpoint.host, "it");
    if (response.status === 404) throw new ArchiveError("not_found", `${this.endpoint.host} is not a registry: it has no /v2/`);
    return response.status !== 401 && response.status !== 403;
  }

  async #get(path: string, headers: Readonly<Record<string, string>>): Promise<{ readonly response: Response; readonly url: URL }> {
    const [, origin = "", prefix = ""] = /^(https?:\/\/[^/]+)(.*)$/.exec(this.endpoint.base) ?? [];
    let url: URL = new URL(`${origin}/v2${prefix}/${this.#repository}/${path}`);
    const scope = `repository:${`${prefix}/${this.#repository}`.slice(1)}:pull`;
    let response = await this.#signedIn(url, headers, scope);
    for (let left = maxRedirects; [301, 302, 303, 307, 308].includes(response.status); left--) {
      response.body.destroy();
      const next = this.#redirect(url, response);
      if (left === 0) throw new ArchiveError("bad_archive", `${this.endpoint.host} redirects more than ${maxRedirects} times`);
      url = next;
      // The header Authorization is for the registry alone.
      response = url.origin === origin ? await this.#signedIn(url, headers, scope) : await this.#send(url, headers, true);
    }
    return { response, url };
  }

  #redirect(from: URL, { headers }: Response): URL {
    const location = String(headers.location ?? "");
    if (!URL.canParse(location, from.href)) throw new ArchiveError("bad_archive", `${this.endpoint.host} redirects to an invalid URL`);
    const url = new URL(location, from);
    this.#refuseUnencrypted(url);
    return url;
  }

  #refuseUnencrypted(url: URL): void {
    const isPlain = this.endpoint.base.startsWith("http://");
    if (url.protocol === "https:" || (isPlain && url.protocol === "http:")) return;
    const to = url.host === "" ? `an address with ${url.protocol}` : `${url.host} without TLS`;
    throw new ArchiveError("not_allowed", `${this.endpoint.host} refers to ${to}: nothing was sent there`);
  }

  /** Sends a request with the credential or token that the server asks for. */
  async #signedIn(url: URL, headers: Readonly<Record<string, string>>, scope: string | undefined): Promise<Response> {
    const known = this.#authorization;
    const response = await this.#send(url, { ...headers, ...(known !== undefined && { Authorization: known }) }, false);
    if (response.status !== 401) return response;
    const challenge = String(response.headers["www-authenticate"] ?? "");
    const authorization = await this.#authorize(challenge, scope);
    if (authorization === undefined) return response;
    response.body.destroy();
    this.#authorization = authorization;
    return this.#send(url, { ...headers, Authorization: authorization }, false);
  }

  /** Returns the header for a challenge; undefined if there is no credential for it. */
  async #authorize(challenge: string, scope: string | undefined): Promise<string | undefined> {
    const { credential, host } = this.endpoint;
    const basic = credential && `Basic ${Buffer.from(`${credential.user}:${credential.password}`).toString("base64")}`;
    if (/^basic\b/i.test(challenge)) return basic;
    if (!/^bearer\b/i.test(challenge)) return undefined;
    const parameter = (name: string) => new RegExp(`[ ,]${name}="([^"]{0,2000})"`, "i").exec(challenge)?.[1];
    const realm = parameter("realm") ?? "";
    if (!URL.canParse(realm)) throw new ArchiveError("bad_archive", `${host} names no server for its tokens`);
    const url = new URL(realm);
    this.#refuseUnencrypted(url);
    const service = parameter("service");
    if (service !== undefined) url.searchParams.set("service", service);
    const wanted = scope ?? parameter("scope");
    if (wanted !== undefined) url.searchParams.set("scope", wanted);
    const response = await this.#send(url, basic === undefined ? {} : { Authorization: basic }, true);
    const data = await bodyOf(response, url, maxToken);
    if (response.status === 401 || response.status === 403) return undefined;
    if (response.status !== 200) throw refusal(response, url.host, "a token");
    const token = tokenOf(data);
    if (token === undefined) throw new ArchiveError("bad_archive", `${url.host} returned no token`);
    return `Bearer ${token}`;
  }

  async #send(url: URL, headers: Readonly<Record<string, string>>, isElsewhere: boolean): Promise<Response> {
    const { ca } = this.endpoint;
    const { signal, silenceMs = 60_000 } = this.#options;
    const from = this.#scope ?? "public";
    const isAllowed = isElsewhere ? (address: string) => mayLeadTo(from, address) : undefined;
    const response = await exchange({ url, headers, ca, signal, silenceMs, isAllowed });
    if (!isElsewhere) this.#scope ??= scopeOf(response.address);
    return response;
  }
}

const maxToken = 64 * 1024;

function tokenOf(data: Buffer): string | undefined {
  try {
    const { token, access_token: other } = JSON.parse(data.toString("utf8")) as {
      readonly token?: unknown;
      readonly access_token?: unknown;
    };
    const found = token ?? other;
    return typeof found === "string" && /^[\x21-\x7e]+$/.test(found) ? found : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Returns the error for a status that is not a success. */
function refusal({ status, headers }: Response, host: string, what: string): ArchiveError {
  if (status === 401 || status === 403) {
    return new ArchiveError(
      "unauthorized",
      `${host} does not give ${what} to this service`,
      `labwright registry login ${host}, on the service's machine`,
    );
  }
  if (status === 404) return new ArchiveError("not_found", `${host} has no ${what}`, "check the name and the tag");
  if (status === 429) {
    const wait = headers["retry-after"];
    return new Unreachable(
      `${host} allows no more pulls now`,
      wait === undefined ? "try again later, or sign in" : `try again in ${wait} s, or sign in`,
    );
  }
  if (status >= 500) return new Unreachable(`${host} failed with status ${status}`);
  return new ArchiveError("bad_archive", `${host} answers with status ${status} to a request for ${what}`);
}
