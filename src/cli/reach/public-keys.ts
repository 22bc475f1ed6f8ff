import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { UsageError } from "../command/usage-error.ts";

const maxKeys = 32;
const maxKeyBytes = 16_384;

/** A line of a public key without options, which could run commands: type, key and comment. */
const publicKey = /^(?:sk-)?(?:ssh|ecdsa)-[\w@.-]+ [A-Za-z0-9+/=]+(?: [^\r\n]*)?$/;

/**
 * Returns the user's public keys, one a line, sorted: that of `identity`, a file with a private key, or those of the agent and of ~/.ssh. Throws UsageError
 * if there is none.
 */
export async function publicKeys(identity: string | undefined): Promise<readonly string[]> {
  if (identity !== undefined) {
    const file = identity.endsWith(".pub") ? identity : `${identity}.pub`;
    const keys = keysOf(await readKeys(file));
    if (keys.length === 0) throw new UsageError(`${file} is not a public key`, `ssh-keygen -y -f ${identity} > ${file} writes it`);
    return keys;
  }
  // ssh looks there too, not in $HOME.
  const folder = join(userInfo().homedir, ".ssh");
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".pub"));
  const texts = await Promise.all([agentKeys(), ...names.map((name) => readKeys(join(folder, name)))]);
  const keys = keysOf(texts.join("\n"));
  if (keys.length === 0) throw new UsageError("you have no SSH key", "ssh-keygen -t ed25519 makes one");
  return keys;
}

/** Returns a name of the keys for a file of theirs. */
export function keysName(keys: readonly string[]): string {
  return createHash("sha256").update(keys.join("\n")).digest("hex").slice(0, 32);
}

/** Returns each public key of a text once, without its comment, sorted. */
export function keysOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/).flatMap((line) => (publicKey.test(line.trim()) ? [line.trim().split(" ").slice(0, 2).join(" ")] : []));
  return [...new Set(lines)].sort().slice(0, maxKeys);
}

/** Returns the text of a file; empty if it cannot be read or is too large for keys. */
async function readKeys(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.length > maxKeyBytes ? "" : text;
}

/** Returns the keys of ssh-agent; empty without one. */
async function agentKeys(): Promise<string> {
  if (process.env.SSH_AUTH_SOCK === undefined) return "";
  const options = { timeout: 5000, maxBuffer: 4 * maxKeys * maxKeyBytes };
  const { stdout } = await promisify(execFile)("ssh-add", ["-L"], options).catch(() => ({ stdout: "" }));
  return stdout;
}
