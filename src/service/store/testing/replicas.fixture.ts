import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { postgresPrograms } from "./cluster.fixture.ts";

/** One of the two servers. */
type Place = 0 | 1;

export interface ReplicasOptions {
  /** Addresses of both servers, which listen at port 5432. */
  readonly addresses: readonly [string, string];
  /** Command in which the servers run, such as `ip netns exec NAME`. */
  readonly within?: readonly string[];
}

const user = "labwright";
const inNamespace = (within: readonly string[] = []) => (process.getuid?.() === 0 ? [...within, ...asPostgres()] : within);

/** PostgreSQL refuses to run as root. */
function asPostgres(): readonly string[] {
  const id = (flag: string) => execFileSync("id", [flag, "postgres"], { encoding: "utf8" }).trim();
  return ["setpriv", `--reuid=${id("-u")}`, `--regid=${id("-g")}`, "--clear-groups"];
}

/**
 * Two PostgreSQL servers, of which the standby follows the primary by streaming replication. A commit waits for the standby while there is one, so that a failover loses
 * nothing. Clients connect over TCP without a password.
 */
export class Replicas implements AsyncDisposable {
  readonly addresses: readonly [string, string];
  readonly #within: readonly string[];
  readonly #directory: string;
  readonly #running = new Map<Place, ChildProcess>();
  #primary: Place = 0;

  private constructor({ addresses, within }: ReplicasOptions) {
    this.addresses = addresses;
    this.#within = inNamespace(within);
    this.#directory = mkdtempSync(join(tmpdir(), "labwright-replicas-"));
    this.#own(this.#directory);
    for (const place of [0, 1] as const) {
      mkdirSync(this.#socket(place), { mode: 0o700 });
      this.#own(this.#socket(place));
    }
  }

  static async make(options: ReplicasOptions): Promise<Replicas> {
    const made = new Replicas(options);
    try {
      made.#run("initdb", "-D", made.#data(0), "-U", user, "--auth=trust", "-N", "-E", "UTF8", "--locale=C");
      writeFileSync(join(made.#data(0), "pg_hba.conf"), "local all,replication all trust\nhost all,replication all all trust\n");
      await made.start(0);
      await made.query("CREATE DATABASE labs", "postgres");
      await made.follow();
      return made;
    } catch (error) {
      await made[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The server that accepts writes. */
  get primary(): Place {
    return this.#primary;
  }

  /** URL with both servers. */
  get url(): string {
    return Replicas.urlOf(this.addresses);
  }

  static urlOf(addresses: readonly string[]): string {
    return `postgres://${user}@${addresses.join(",")}/labs?target_session_attrs=read-write`;
  }

  /** Starts a server, and waits until it answers. */
  async start(place: Place): Promise<void> {
    const settings = [
      `listen_addresses=${this.addresses[place]}`,
      `unix_socket_directories=${this.#socket(place)}`,
      "shared_buffers=32MB",
      "max_connections=200",
      "wal_keep_size=256MB",
      // Data survive the end of a process without it, and these tests do not cut the power of the machine.
      "fsync=off",
    ];
    const argv = [join(postgresPrograms!, "postgres"), "-D", this.#data(place), ...settings.flatMap((setting) => ["-c", setting])];
    const server = spawn("sh", ["-c", whileRead, "sh", ...this.#within, ...argv], { cwd: "/", stdio: ["pipe", "ignore", "ignore"] });
    server.unref();
    (server.stdin as Socket).unref();
    this.#running.set(place, server);
    await this.#answers(place, server);
  }

  /** Ends a server at once, as its crash would. */
  async kill(place: Place): Promise<void> {
    const server = this.#running.get(place);
    this.#running.delete(place);
    if (server === undefined || server.exitCode !== null) return;
    server.ref();
    const ended = once(server, "exit");
    (server.stdin as Socket).end();
    await ended;
  }

  /** Makes the standby the primary. The other server must not run. */
  async promote(): Promise<void> {
    const standby: Place = this.#primary === 0 ? 1 : 0;
    if (this.#running.has(this.#primary)) throw new Error("two servers would accept writes");
    this.#primary = standby;
    await this.query("SELECT pg_promote()", "postgres");
    await this.query("ALTER SYSTEM RESET synchronous_standby_names", "postgres");
    await this.query("SELECT pg_reload_conf()", "postgres");
  }

  /** Makes a standby of the other server, with a new copy of the data. */
  async follow(): Promise<void> {
    const standby: Place = this.#primary === 0 ? 1 : 0;
    await this.kill(standby);
    rmSync(this.#data(standby), { recursive: true, force: true });
    const from = `host=${this.#socket(this.#primary)} user=${user} application_name=standby`;
    this.#run("pg_basebackup", "-D", this.#data(standby), "-d", from, "-R", "-X", "stream", "-c", "fast", "--no-sync");
    await this.start(standby);
    await this.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'", "postgres");
    await this.query("SELECT pg_reload_conf()", "postgres");
  }

  /** Runs a statement on the primary. */
  async query(text: string, database = "labs"): Promise<readonly Record<string, unknown>[]> {
    const client = new Client({ host: this.#socket(this.#primary), user, database });
    await client.connect();
    try {
      return (await client.query(text)).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const place of [0, 1] as const) await this.kill(place);
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #data(place: Place): string {
    return join(this.#directory, `data${place}`);
  }

  #socket(place: Place): string {
    return join(this.#directory, `socket${place}`);
  }

  #own(path: string): void {
    if (process.getuid?.() !== 0) return;
    const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
    chownSync(path, id("-u"), id("-g"));
  }

  #run(program: string, ...args: readonly string[]): void {
    const [command = "", ...more] = [...this.#within, join(postgresPrograms!, program), ...args];
    execFileSync(command, more, { cwd: "/", stdio: ["ignore", "ignore", "inherit"] });
  }

  async #answers(place: Place, server: ChildProcess): Promise<void> {
    const end = performance.now() + 60_000;
    for (;;) {
      const client = new Client({ host: this.#socket(place), user, database: "postgres" });
      try {
        await client.connect();
        await client.end();
        return;
      } catch (error) {
        if (performance.now() > end || server.exitCode !== null) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }
}

/** Runs the server until standard input ends, which is when this process ends. SIGQUIT: at once, without saving. */
const whileRead = `
trap '' INT TERM HUP
"$@" & server=$!
read -r _
kill -QUIT $server
wait $server`;
