import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { makeDirectory } from "../../files/make-directory.ts";
import { writeFileAtomic } from "../../files/write-file-atomic.ts";
import { UsageError } from "./usage-error.ts";

/** A login at one service. */
export interface Login {
  readonly url: string;
  readonly pin?: string;
  readonly username?: string;
  readonly token?: string;
}

interface Kept {
  readonly version: 1;
  /** URL of the last login. */
  readonly current?: string;
  readonly logins: readonly Login[];
}

/** Returns whether two fingerprints are equal, independent of their format. An absent fingerprint equals none. */
export function isSamePin(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && digits(a) === digits(b);
}

function digits(fingerprint: string): string {
  return fingerprint
    .replace(/^sha-?256[:=]/i, "")
    .replaceAll(":", "")
    .toLowerCase();
}

/** $XDG_CONFIG_HOME/labwright/credentials.json, mode 0600: tokens and pins by service, no passwords. */
export class Credentials {
  readonly path: string;

  constructor(env: Readonly<Record<string, string | undefined>> = process.env) {
    const home = env.XDG_CONFIG_HOME;
    this.path = join(home !== undefined && home !== "" ? home : join(homedir(), ".config"), "labwright", "credentials.json");
  }

  /** Returns the login of this service. Without a URL: the last login. */
  async find(url?: string): Promise<Login | undefined> {
    const { current, logins } = await this.#read();
    return logins.find((login) => login.url === (url ?? current));
  }

  /** Returns the logins with a token at this address, or at another one with the same certificate: first the current one, then the one of the address. */
  async ofService({ url, pin }: Pick<Login, "url" | "pin">): Promise<readonly Login[]> {
    const { current, logins } = await this.#read();
    const rank = (login: Login) => (login.url === current ? 0 : login.url === url ? 1 : 2);
    return logins
      .filter((login) => login.token !== undefined && (pin === undefined ? login.url === url : isSamePin(login.pin, pin)))
      .sort((a, b) => rank(a) - rank(b));
  }

  /** Stores a login and makes it the current one. */
  async keep(login: Login): Promise<void> {
    const { logins } = await this.#read();
    const others = logins.filter(({ url }) => url !== login.url);
    await this.#write({ version: 1, current: login.url, logins: [...others, login].sort((a, b) => (a.url < b.url ? -1 : 1)) });
  }

  /** Removes the token. The pin stays, so that the next login does not ask for trust again. */
  async forget(url: string): Promise<void> {
    const kept = await this.#read();
    const logins = kept.logins.map((login) =>
      login.url === url ? { url, ...(login.pin === undefined ? {} : { pin: login.pin }) } : login,
    );
    await this.#write({ ...kept, logins });
  }

  async #read(): Promise<Kept> {
    let text: string;
    try {
      text = await readFile(this.path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return { version: 1, logins: [] };
      throw error;
    }
    try {
      const kept = JSON.parse(text) as Kept;
      if (kept.version === 1 && Array.isArray(kept.logins)) return kept;
    } catch {
      // Reported below, like every other unknown content.
    }
    throw new UsageError(`${this.path} is not a credentials file`, "move it away and log in again");
  }

  async #write(kept: Kept): Promise<void> {
    await makeDirectory(dirname(this.path), 0o700);
    await writeFileAtomic(this.path, `${JSON.stringify(kept, null, 2)}\n`, 0o600);
  }
}
