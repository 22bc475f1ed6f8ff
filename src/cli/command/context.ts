import { connect, type LabwrightClient, type Credentials as SignIn } from "../../client/index.ts";
import { parseFingerprint } from "../../transport/fingerprint.ts";
import type { Terminal } from "../show/terminal.ts";
import type { Arguments } from "./arguments.ts";
import { askText, readPassword } from "./ask.ts";
import { Credentials, isSamePin, type Login } from "./credentials.ts";
import { readServiceFile, type ServiceFile } from "./local-service.ts";
import { findProject, type Project, type ProjectFile } from "./project.ts";
import { UsageError } from "./usage-error.ts";

/** What a command works with: the terminal, the form of its output, and the service. */
export class Context implements Disposable {
  readonly terminal: Terminal;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly credentials = new Credentials();
  readonly #args: Arguments;
  #client: LabwrightClient | undefined;
  #project: Project | undefined;

  constructor(terminal: Terminal, args: Arguments) {
    this.terminal = terminal;
    this.json = args.text("format") === "json";
    this.quiet = args.has("quiet");
    this.#args = args;
  }

  /** With --format json the data as it is, otherwise what `show` makes of it, with its commands as they can be typed. Not for output of nodes. */
  result<T>(data: T, show: (data: T) => string): void {
    this.terminal.print(this.json ? JSON.stringify(data, null, 2) : this.terminal.spell(show(data)));
  }

  /** The project that the arguments name; read once, so that every request of a command is about the same text. */
  async project(args: Arguments = this.#args): Promise<Project> {
    this.#project ??= await findProject(args);
    return this.#project;
  }

  /** As project, where a file is needed. */
  async projectFile(args: Arguments = this.#args): Promise<Project & { readonly file: ProjectFile }> {
    const { file, ...project } = await this.project(args);
    if (file === undefined) throw new UsageError("this needs the lab's file", "name it with -t FILE");
    return { ...project, file };
  }

  /** The lab's file that was read, to show problems with their lines. */
  get file(): ProjectFile | undefined {
    return this.#project?.file;
  }

  /** Where to send things: --url, LABWRIGHT_URL, the last login, the service of this machine; undefined when none is known. */
  async service(): Promise<Login | undefined> {
    const url = this.#args.text("url") ?? env("LABWRIGHT_URL");
    const pin = pinOf(this.#args.text("pin") ?? env("LABWRIGHT_PIN"));
    const token = env("LABWRIGHT_TOKEN");
    const kept = await this.credentials.find(url === undefined ? undefined : normalUrl(url));
    const local = url === undefined ? await readServiceFile() : undefined;
    const base: Login | undefined =
      (kept && local && atItsPort(kept, local)) ??
      kept ??
      (url === undefined ? undefined : { url: normalUrl(url) }) ??
      (local && { url: local.url, pin: local.fingerprint });
    if (base === undefined) return undefined;
    return { ...base, ...(pin === undefined ? {} : { pin }), ...(token === undefined ? {} : { token }) };
  }

  /** The client of that service, signed in again where the session has expired and a password can be had. Throws UsageError. */
  async client(): Promise<LabwrightClient> {
    if (this.#client !== undefined) return this.#client;
    const login = await this.service();
    if (login === undefined) {
      throw new UsageError("no service is known", "labwright login --url https://HOST:8443, or labwright up to start one on this machine");
    }
    return this.use(login);
  }

  /** From now on the service of this login. */
  use(login: Login): LabwrightClient {
    this.#client?.close();
    const canAsk = this.terminal.interactive || (env("LABWRIGHT_PASSWORD") !== undefined && this.#username(login) !== undefined);
    this.#client = connect({
      url: login.url,
      pin: login.pin,
      token: login.token,
      onToken: (token) => {
        this.#saving = this.#saving.then(() => this.credentials.keep({ ...login, ...this.#signedIn, token }));
      },
      credentials: canAsk ? () => this.#signIn(login) : undefined,
    });
    return this.#client;
  }

  /** Waits until what must be kept is on disk. */
  async finish(): Promise<void> {
    await this.#saving;
  }

  [Symbol.dispose](): void {
    this.#client?.close();
  }

  #saving: Promise<void> = Promise.resolve();
  #signedIn: { readonly username?: string } = {};

  #username(login: Login): string | undefined {
    return env("LABWRIGHT_USER") ?? login.username;
  }

  async #signIn(login: Login): Promise<SignIn> {
    const username = this.#username(login) ?? (await askText(this.terminal, `User name at ${login.url}: `));
    const password = await readPassword(this.terminal, `Password of ${username}: `);
    this.#signedIn = { username };
    return { username, password };
  }
}

/** The login at the address where this machine's service is now, if it is that service by its certificate; undefined: it is another one. */
function atItsPort(login: Login, { url, fingerprint }: ServiceFile): Login | undefined {
  return isSamePin(login.pin, fingerprint) ? { ...login, url } : undefined;
}

/** A host alone is enough: https and port 8443 are what a service has. */
export function normalUrl(text: string): string {
  const full = /^[a-z]+:\/\//i.test(text) ? text : `https://${text}`;
  if (!URL.canParse(full)) throw new UsageError(`"${text}" is no address of a service`, "such as https://localhost:8443");
  const url = new URL(full);
  if (full !== text && url.port === "") url.port = "8443";
  return url.href.replace(/\/$/, "");
}

function env(name: string): string | undefined {
  const value = process.env[name];
  return value === "" ? undefined : value;
}

/** @throws UsageError: no certificate has such a fingerprint */
function pinOf(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  try {
    return parseFingerprint(given);
  } catch {
    throw new UsageError(`--pin takes a SHA-256 fingerprint, not "${given}"`, "labwright serve prints the fingerprint when it starts");
  }
}
