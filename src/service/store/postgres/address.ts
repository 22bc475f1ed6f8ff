import { readFileSync, statSync } from "node:fs";
import type { PoolConfig } from "pg";
import { parseIntoClientConfig } from "pg-connection-string";

/** A PostgreSQL database as a URL names it, with its password from the first place that has one. */
export interface PostgresAddress {
  readonly config: PoolConfig;
  /** The URL without its password, for messages and logs. */
  readonly shown: string;
}

/**
 * Reads a URL such as postgres://labwright@db.example/labwright?sslmode=verify-full. The password comes from `passwordFile`, from PGPASSWORD or from
 * ~/.pgpass. Throws an Error for the user: for another scheme, and for a password in the URL, because process lists show it.
 */
export function postgresAddress(url: string, { passwordFile }: { readonly passwordFile?: string | undefined } = {}): PostgresAddress {
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) {
    throw new Error(
      `a PostgreSQL store is a URL such as postgres://labwright@db.example/labwright, not ${JSON.stringify(withoutPassword(url))}`,
    );
  }
  const shown = withoutPassword(url);
  if (new URL(url).password !== "" || new URL(url).searchParams.has("password")) {
    throw new Error(
      `the URL of the store contains a password, which every user of the machine could read in the process list: remove it (${shown}), and set ` +
        "PGPASSWORD, write ~/.pgpass, or name a file with --store-password-file",
    );
  }
  const { password: _none, ...config } = clientConfig(url, shown);
  const password = passwordFile === undefined ? undefined : passwordOf(passwordFile);
  return { config: { ...config, ...(password !== undefined && { password }) } as PoolConfig, shown };
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
