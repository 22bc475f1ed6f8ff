import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { makeDirectory } from "../../files/make-directory.ts";
import { writeFileAtomic } from "../../files/write-file-atomic.ts";
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
  /** Told what clients will meet: a certificate that has expired, expires soon, or was replaced. Default: nobody is told. */
  readonly warn?: (text: string) => void;
}

const days = 24 * 60 * 60 * 1000;
const soonMs = 30 * days;

/**
 * The user's certificate; or the one made at the first start, kept with its key in `<stateDir>/server.pem` (mode 0600). A new one is
 * made only when there is none or it has expired: its fingerprint is what clients have pinned. Throws an error that names the file.
 */
export async function serverCertificate(options: CertificateOptions, now = new Date()): Promise<ServerCertificate> {
  const { own, warn = () => {} } = options;
  if (own !== undefined) {
    const checked = await readPair(own.certificate, own.key);
    warnOfExpiry(own.certificate, checked, now, warn);
    return checked.pair;
  }
  return ownMade(options, now, warn);
}

async function ownMade({ stateDir, names = [] }: CertificateOptions, now: Date, warn: (text: string) => void): Promise<ServerCertificate> {
  const path = join(stateDir, "server.pem");
  const kept = await readKept(path);
  if (kept !== undefined && kept.until > now) {
    if (kept.until.getTime() - now.getTime() < soonMs) {
      const then = "the first start or reload after that makes a new one, and clients must pin its fingerprint";
      warn(`the certificate of this service (${path}) expires on ${dayOf(kept.until)}: ${then}`);
    }
    return kept.pair;
  }
  const all = [...new Set(["localhost", "127.0.0.1", "::1", hostname(), ...names])];
  const made = selfSigned({ names: all, from: new Date(now.getTime() - days), until: new Date(now.getTime() + 3650 * days) });
  await makeDirectory(stateDir, 0o700);
  await writeFileAtomic(path, made.certificate + made.key, 0o600);
  const pair = { ...made, fingerprint: fingerprintOf(made.certificate) };
  if (kept !== undefined) {
    const then = `clients must pin the new one, sha256:${pair.fingerprint} (labwright login asks)`;
    warn(`the certificate of this service (${path}) expired on ${dayOf(kept.until)}, and a new one was made: ${then}`);
  }
  return pair;
}

export function fingerprintOf(certificate: string): string {
  return new X509Certificate(certificate).fingerprint256;
}

interface CheckedPair {
  readonly pair: ServerCertificate;
  readonly until: Date;
}

/** Throws an error that names the file that is wrong, and how. */
async function readPair(certificateFile: string, keyFile: string): Promise<CheckedPair> {
  const certificate = await readText("certificate", certificateFile);
  const key = await readText("key", keyFile);
  if (/^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(key)) {
    throw new Error(`the key ${keyFile} is encrypted, and the service takes no passphrase: give it one that is not (openssl pkey)`);
  }
  const parsed = inFile("certificate", certificateFile, () => new X509Certificate(certificate));
  const privateKey = inFile("key", keyFile, () => createPrivateKey(key));
  if (!parsed.checkPrivateKey(privateKey)) {
    throw new Error(
      `the key ${keyFile} is not that of the certificate ${certificateFile}: its first certificate must be the service's own`,
    );
  }
  // Also what comes after the first certificate, and what the TLS library makes of both.
  inFile("certificate", certificateFile, () => createSecureContext({ cert: certificate, key }));
  return { pair: { certificate, key, fingerprint: parsed.fingerprint256 }, until: new Date(parsed.validTo) };
}

async function readText(what: string, file: string): Promise<string> {
  return readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new Error(`the ${what} ${file} cannot be read (${error.code})`, { cause: error });
  });
}

function inFile<T>(what: string, file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`the ${what} ${file} is no PEM file that can be used: ${(error as Error).message}`, { cause: error });
  }
}

function warnOfExpiry(file: string, { until }: CheckedPair, now: Date, warn: (text: string) => void): void {
  const left = until.getTime() - now.getTime();
  const renew = "renew it, then systemctl reload labwright, or send the service SIGHUP";
  if (left <= 0) warn(`the certificate ${file} expired on ${dayOf(until)}: clients that do not pin it refuse it; ${renew}`);
  else if (left < soonMs) warn(`the certificate ${file} expires on ${dayOf(until)}: ${renew}`);
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

async function readKept(path: string): Promise<CheckedPair | undefined> {
  try {
    return await readPair(path, path);
  } catch (error) {
    const { cause } = error as Error;
    if ((cause as NodeJS.ErrnoException | undefined)?.code === "ENOENT") return undefined;
    throw new Error(`${(error as Error).message}; restore it, or remove it: a new one is made then, which clients must pin`, {
      cause: error,
    });
  }
}
