import { readFileSync, statSync } from "node:fs";
import type { PoolConfig } from "pg";
import { parseIntoClientConfig } from "pg-connection-string";
import { type DatabaseServer, Servers } from "./servers.ts";

const defaultPort = 5_432;

/** A PostgreSQL database as a URL names it, with its password from the first place that has one. */
export interface PostgresAddress {
  readonly config: PoolConfig;
  /** The servers that the URL names. Connections are made by `clientOf` them: `config` has only the first one. */
  readonly servers: Servers;
  /** The URL without its password, for messages and logs. */
  readonly shown: string;
}

/**
 * Reads a URL such as postgres://labwright@db.example/labwright?sslmode=verify-full. It may name several servers of one database, as that of libpq does:
 * postgres://labwright@db1,db2:5433/labwright. The password comes from `passwordFile`, from PGPASSWORD or from ~/.pgpass. Throws an Error for the user: for another
 * scheme, and for a password in the URL, because process lists show it.
 */
export function postgresAddress(url: string, { passwordFile }: { readonly passwordFile?: string | undefined } = {}): PostgresAddress {
  const urls = urlsOfServers(url);
  const first = urls[0]!;
  if (!urls.every((one) => URL.canParse(one)) || !/^postgres(ql)?:$/.test(new URL(first).protocol)) {
    throw new Error(
      `a PostgreSQL store is a URL such as postgres://labwright@db.example/labwright, not ${JSON.stringify(withoutPassword(url))}`,
    );
  }
  const shown = withoutPassword(url);
  const { password: inUrl, searchParams } = new URL(first);
  if (inUrl !== "" || searchParams.has("password")) {
    throw new Error(
      `the URL of the store contains a password, which every user of the machine could read in the process list: remove it (${shown}), and set ` +
        "PGPASSWORD, write ~/.pgpass, or name a file with --store-password-file",
    );
  }
  refuseOtherAttributes(searchParams, shown);
  const { password: _none, ...config } = clientConfig(first, shown);
  const servers = urls.map((one): DatabaseServer => serverOf(clientConfig(one, shown)));
  const password = passwordFile === undefined ? undefined : passwordOf(passwordFile);
  return { config: { ...config, ...(password !== undefined && { password }) } as PoolConfig, servers: new Servers(servers), shown };
}

/** One URL for each of the servers, which are separated by commas. */
function urlsOfServers(url: string): readonly string[] {
  const [, before = "", hosts, after = ""] = /^([a-z]+:\/\/(?:[^/?#@]*@)?)([^/?#]*)(.*)$/is.exec(url) ?? [];
  return hosts?.includes(",") === true ? hosts.split(",").map((host) => `${before}${host}${after}`) : [url];
}

function serverOf({ host, port }: { readonly host?: unknown; readonly port?: unknown }): DatabaseServer {
  return {
    host: typeof host === "string" && host !== "" ? host : "localhost",
    port: port === undefined || port === null || port === "" ? defaultPort : Number(port),
  };
}

/** The service writes: of several servers it uses the one that accepts writes, in any case. */
function refuseOtherAttributes(parameters: URLSearchParams, shown: string): void {
  const wanted = parameters.get("target_session_attrs");
  if (wanted !== null && !["any", "read-write", "primary"].includes(wanted))
    throw new Error(
      `the store ${shown} cannot be used: the service writes, so target_session_attrs is read-write, not ${JSON.stringify(wanted)}`,
    );
  if (parameters.get("host")?.includes(",") === true)
    throw new Error(
      `the store ${shown} cannot be used: write several servers before the name of the database: postgres://labwright@db1,db2/labwright`,
    );
}

function clientConfig(url: string, shown: string) {
  try {
    return parseIntoClientConfig(libpqUrl(url));
  } catch (error) {
    throw new Error(`the store ${shown} cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

/** The client library takes `require` and `verify-ca` for `verify-full`, unless the URL asks for the meanings of libpq. */
function libpqUrl(url: string): string {
  const parsed = new URL(url);
  if (!parsed.searchParams.has("sslmode") || parsed.searchParams.has("uselibpqcompat")) return url;
  return `${url}&uselibpqcompat=true`;
}

function passwordOf(file: string): string {
  try {
    if ((statSync(file).mode & 0o077) !== 0) throw new Error("other users may read it: chmod 600 it");
    return readFileSync(file, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    throw new Error(`the password of the store cannot be read from ${file}: ${(error as Error).message}`, { cause: error });
  }
}

function withoutPassword(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^/?#:@]*):[^/?#@]*@/i, "$1@").replace(/([?&])password=[^&#]*/gi, "$1password=…");
}
