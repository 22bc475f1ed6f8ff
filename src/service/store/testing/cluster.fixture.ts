import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, globSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { type PostgresAddress, postgresAddress } from "../address/address.ts";

/** Directory with the programs of Debian's PostgreSQL; undefined: it is not installed. */
export const postgresPrograms: string | undefined = globSync("/usr/lib/postgresql/*/bin").sort().at(-1);

export interface Cluster {
  /** Directory of its Unix socket. */
  readonly socket: string;
  /** Addresses of its port 5432, for the user `remote` with the password `secret` over TLS, and the file of its certificate, which names only the first. */
  readonly tls: { readonly address: string; readonly unnamed: string; readonly certificate: string };
  /** Creates an empty database. */
  database(): Promise<PostgresAddress & { readonly url: string }>;
  /** Runs one statement as the superuser. */
  query(database: string, text: string): Promise<readonly Record<string, unknown>[]>;
  /** Ends the server at once, and removes its data. */
  stop(): Promise<void>;
}

let running: Promise<Cluster> | undefined;

/** A PostgreSQL of this test process on a Unix socket, without fsync. It starts at the first use and ends with the process. */
export function cluster(): Promise<Cluster> {
  running ??= startCluster();
  return running;
}

/**
 * Starts another PostgreSQL, as the one of `cluster`.
 * @param more further settings, such as max_connections=200
 */
export async function startCluster(more: readonly string[] = []): Promise<Cluster> {
  const bin = postgresPrograms;
  if (bin === undefined) throw new Error("PostgreSQL is not installed: apt-get install postgresql");
  const directory = mkdtempSync(join(tmpdir(), "labwright-postgres-"));
  const [data, socket] = [join(directory, "data"), join(directory, "socket")];
  for (const made of [data, socket]) mkdirSync(made, { mode: 0o700 });
  // PostgreSQL refuses to run as root.
  const ids = process.getuid?.() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : {};
  for (const made of [directory, data, socket]) if (ids.uid !== undefined) chownSync(made, ids.uid, ids.gid);
  execFileSync(join(bin, "initdb"), ["-D", data, "-U", "labwright", "--auth=trust", "-N", "-E", "UTF8", "--locale=C"], {
    cwd: directory,
    ...ids,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const tls = { address: addressOf(process.pid, 64), unnamed: addressOf(process.pid, 128), certificate: join(directory, "server.crt") };
  const key = join(directory, "server.key");
  makeCertificate(tls, key);
  for (const made of [tls.certificate, key]) if (ids.uid !== undefined) chownSync(made, ids.uid, ids.gid);
  const rules = join(data, "pg_hba.conf");
  // The first rule that matches counts.
  writeFileSync(rules, `hostssl all remote 127.0.0.0/8 scram-sha-256\nhost all remote all reject\n${readFileSync(rules, "utf8")}`);
  const encryption = [
    "ssl=on",
    `ssl_cert_file=${tls.certificate}`,
    `ssl_key_file=${key}`,
    `listen_addresses=${tls.address},${tls.unnamed}`,
  ];
  const settings = [
    ...encryption,
    `unix_socket_directories=${socket}`,
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=16MB",
    ...more,
  ];
  const argv = [join(bin, "postgres"), "-D", data, ...settings.flatMap((setting) => ["-c", setting])];
  const server = spawn("sh", ["-c", whileRead, "sh", directory, ...argv], { cwd: "/", ...ids, stdio: ["pipe", "ignore", "ignore"] });
  // Neither keeps this process from its end.
  server.unref();
  (server.stdin as Socket).unref();
  await answers(socket, server);
  const query = async (database: string, text: string) => {
    const client = new Client({ host: socket, user: "labwright", database });
    await client.connect();
    try {
      return (await client.query(text)).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  };
  await query("postgres", "CREATE ROLE remote SUPERUSER LOGIN PASSWORD 'secret'");
  let made = 0;
  return {
    socket,
    tls,
    query,
    stop: async () => {
      server.ref();
      const ended = once(server, "exit");
      (server.stdin as Socket).end();
      await ended;
    },
    database: async () => {
      made += 1;
      const name = `test_${made}`;
      await query("postgres", `CREATE DATABASE ${name}`);
      const url = `postgres://labwright@${encodeURIComponent(socket)}/${name}`;
      return { ...postgresAddress(url), url };
    },
  };
}

/** Returns an address of the loopback that no other test process has, so that all may use the usual port. */
function addressOf(pid: number, first: number): string {
  return `127.${first + ((pid >> 16) & 63)}.${(pid >> 8) & 255}.${pid & 255}`;
}

function makeCertificate({ address, certificate }: Cluster["tls"], key: string): void {
  const subject = ["-subj", "/CN=labwright test", "-addext", `subjectAltName=IP:${address}`];
  const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  execFileSync("openssl", [...kind, "-keyout", key, "-out", certificate, ...subject], { stdio: "ignore" });
  chmodSync(key, 0o600);
}

function idOf(flag: string): number {
  return Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
}

/**
 * Runs the server until standard input ends, which is when this process ends, also by SIGKILL: the test runner ends its workers by signals. Removes the
 * server's directory. SIGQUIT: at once, without saving.
 */
const whileRead = `
trap '' INT TERM HUP
directory=$1; shift
"$@" & server=$!
read -r _
kill -QUIT $server
wait $server
rm -rf "$directory"`;

async function answers(socket: string, server: ChildProcess): Promise<void> {
  const end = performance.now() + 60_000;
  for (;;) {
    const client = new Client({ host: socket, user: "labwright", database: "postgres" });
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
