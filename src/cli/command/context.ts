import { connect, type LabwrightClient, type Credentials as SignIn } from "../../client/index.ts";
import { parseFingerprint } from "../../transport/fingerprint.ts";
import type { Terminal } from "../show/terminal.ts";
import type { Arguments } from "./arguments.ts";
import { askText, readPassword } from "./ask.ts";
import { Credentials, isSamePin, type Login } from "./credentials.ts";
import { env } from "./environment.ts";
import { readServiceFile, type ServiceFile } from "./local-service.ts";
import { byName, findProject, type Project, type ProjectFile } from "./project.ts";
import { UsageError } from "./usage-error.ts";

/** The environment of a command: the terminal, the output format, and the service. */
export class Context implements Disposable {
  readonly terminal: Terminal;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly credentials = new Credentials();
  readonly #args: Arguments;
  readonly #readsText: boolean;
  #client: LabwrightClient | undefined;
  #project: Project | undefined;

  /** @param readsText see Command */
  constructor(terminal: Terminal, args: Arguments, { readsText = false }: { readonly readsText?: boolean | undefined } = {}) {
    this.terminal = terminal;
    this.json = args.text("format") === "json";
    this.quiet = args.has("quiet");
    this.#args = args;
    this.#readsText = readsText;
  }

  /** Prints a result: with --format json the data, otherwise the text of `show`. Replaces commands in that text, so that it must not contain output of nodes. */
  result<T>(data: T, show: (data: T) => string): void {
    this.terminal.print(this.json ? JSON.stringify(data, null, 2) : this.terminal.spell(show(data)));
  }

  /**
   * Returns the project that the arguments name. It is read once, so that every request of a command uses the same text. If the file has errors, a command
   * that does not use its text gets the lab's path alone.
   */
  async project(args: Arguments = this.#args): Promise<Project> {
    if (this.#project !== undefined) return this.#project;
    const project = await findProject(args);
    this.#project = this.#readsText ? project : this.#byName(project);
    return this.#project;
  }

  #byName(project: Project): Project {
    const { project: found, warning } = byName(project);
    if (warning !== undefined) this.terminal.complain(`${this.terminal.paint("yellow", "warning:")} ${warning}`);
    return found;
  }

  /** Returns the project of a command that needs a file. Throws UsageError without one. */
  async projectFile(args: Arguments = this.#args): Promise<Project & { readonly file: ProjectFile }> {
    const { file, ...project } = await this.project(args);
    if (file === undefined) throw new UsageError("this needs the lab's file", "name it with -t FILE");
    return { ...project, file };
  }

  /** The lab's file, if it was read, to show problems with their lines. */
  get file(): ProjectFile | undefined {
    return this.#project?.file;
  }

  /** Returns the service to use: --url, LABWRIGHT_URL, the last login, or the service of this machine. `undefined` if none is known. */
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

  /** Returns the client of that service. It signs in again if the session has expired and a password is available. Throws UsageError. */
  async client(): Promise<LabwrightClient> {
    if (this.#client !== undefined) return this.#client;
    const login = await this.service();
    if (login === undefined) {
      throw new UsageError("no service is known", "labwright login --url https://HOST:8443, or labwright up to start one on this machine");
    }
    return this.use(login);
  }

  /** Uses the service of this login from now on. */
  use(login: Login): LabwrightClient {
    this.#client?.close();
    // A job with an API token of few rights does not go on with all rights of a password.
    const canAsk =
      env("LABWRIGHT_TOKEN")?.startsWith("lw_") !== true &&
      (this.terminal.interactive || (env("LABWRIGHT_PASSWORD") !== undefined && this.#username(login) !== undefined));
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

  /** Waits until credentials are stored on disk. */
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

/** Returns the login with the current address of this machine's service, if the certificate shows that it is that service. Otherwise `undefined`. */
function atItsPort(login: Login, { url, fingerprint }: ServiceFile): Login | undefined {
  return isSamePin(login.pin, fingerprint) ? { ...login, url } : undefined;
}

/** Completes the address of a service: https and port 8443 are the defaults. */
export function normalUrl(text: string): string {
  const full = /^[a-z]+:\/\//i.test(text) ? text : `https://${text}`;
  if (!URL.canParse(full)) throw new UsageError(`"${text}" is not the address of a service`, "such as https://localhost:8443");
  const url = new URL(full);
  if (full !== text && url.port === "") url.port = "8443";
  return url.href.replace(/\/$/, "");
}

/** Parses a fingerprint. Throws UsageError if it is malformed. */
function pinOf(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  try {
    return parseFingerprint(given);
  } catch {
    throw new UsageError(`--pin takes a SHA-256 fingerprint, not "${given}"`, "labwright serve prints the fingerprint when it starts");
  }
}

/** Notes how old a list is that the service answered from memory, because its database does not answer. */
export async function noteAge(context: Context): Promise<void> {
  const { store } = await (await context.client()).getHealth();
  if (store?.reachable !== false) return;
  context.terminal.note(`the service's database does not answer: this is what it had ${store.age ?? 0} s ago`);
}
