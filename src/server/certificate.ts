import { X509Certificate } from "node:crypto";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { selfSigned } from "./self-signed.ts";

/** What the server shows its clients; fingerprint is the SHA-256 that they pin, as AA:BB:… */
export interface ServerCertificate {
  /** PEM, with any chain. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
  readonly fingerprint: string;
}

export interface CertificateOptions {
  readonly stateDir: string;
  /** More names and addresses for a certificate that is made here. */
  readonly names?: readonly string[];
  /** The user's own, instead: paths of PEM files. */
  readonly own?: { readonly certificate: string; readonly key: string };
}

const days = 24 * 60 * 60 * 1000;

/**
 * The user's certificate; or the one made at the first start, kept with its key in `<stateDir>/server.pem` (mode 0600). A new one is
 * made only when there is none or it has expired: its fingerprint is what clients have pinned.
 */
export async function serverCertificate(options: CertificateOptions, now = new Date()): Promise<ServerCertificate> {
  if (options.own !== undefined) {
    const [certificate, key] = await Promise.all([readFile(options.own.certificate, "utf8"), readFile(options.own.key, "utf8")]);
    return { certificate, key, fingerprint: fingerprintOf(certificate) };
  }
  const path = join(options.stateDir, "server.pem");
  const kept = await readKept(path);
  if (kept !== undefined && new Date(new X509Certificate(kept).validTo) > now) {
    return { certificate: kept, key: kept, fingerprint: fingerprintOf(kept) };
  }
  const names = [...new Set(["localhost", "127.0.0.1", "::1", hostname(), ...(options.names ?? [])])];
  const made = selfSigned({ names, from: new Date(now.getTime() - days), until: new Date(now.getTime() + 3650 * days) });
  await mkdir(options.stateDir, { recursive: true, mode: 0o700 });
  await writeWhole(path, made.certificate + made.key);
  return { ...made, fingerprint: fingerprintOf(made.certificate) };
}

export function fingerprintOf(certificate: string): string {
  return new X509Certificate(certificate).fingerprint256;
}

async function readKept(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** All or nothing, readable by the owner only from its first byte on. */
async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}`;
  const file = await open(draft, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}
