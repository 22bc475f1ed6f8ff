import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { makeDirectory } from "../../files/make-directory.ts";
import { writeFileAtomic } from "../../files/write-file-atomic.ts";
import { selfSigned } from "./self-signed.ts";

/** The certificate and key of the server. Clients pin `fingerprint`, the SHA-256 as AA:BB:… */
export interface ServerCertificate {
  /** PEM, optionally with a chain. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
  readonly fingerprint: string;
}

export interface CertificateOptions {
  readonly stateDir: string;
  /** More names and addresses for the self-signed certificate. */
  readonly names?: readonly string[];
  /** Paths of the user's own PEM files, which replace the self-signed certificate. */
  readonly own?: { readonly certificate: string; readonly key: string };
  /** Called if the certificate has expired, expires soon, or was replaced. Default: no warning. */
  readonly warn?: (text: string) => void;
}

const days = 24 * 60 * 60 * 1000;
const soonMs = 30 * days;

/**
 * Returns the user's certificate, or the self-signed one in `<stateDir>/server.pem` (mode 0600, with its key). A self-signed certificate is
 * created only if there is none or it has expired, because clients have pinned its fingerprint. Throws an error that names the file.
 */
export async function serverCertificate(options: CertificateOptions, now = new Date()): Promise<ServerCertificate> {
  const { own, warn = () => {} } = options;
  if (own !== undefined) {
    const checked = await readPair(own.certificate, own.key);
    warnOfExpiry(own.certificate, checked, now, warn);
    return checked.pair;
  }
  return selfMade(options, now, warn);
}

async function selfMade({ stateDir, names = [] }: CertificateOptions, now: Date, warn: (text: string) => void): Promise<ServerCertificate> {
  const path = join(stateDir, "server.pem");
  const kept = await readKept(path);
  if (kept !== undefined && kept.until > now) {
    if (kept.until.getTime() - now.getTime() < soonMs) {
      const then = "the first start or reload after that date creates a new one, and clients must pin its fingerprint";
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
    warn(`the certificate of this service (${path}) expired on ${dayOf(kept.until)}, and a new one was created: ${then}`);
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

/** Reads and checks a certificate and its key. Throws an error that names the wrong file and the problem. */
async function readPair(certificateFile: string, keyFile: string): Promise<CheckedPair> {
  const certificate = await readText("certificate", certificateFile);
  const key = await readText("key", keyFile);
  if (/^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(key)) {
    throw new Error(
      `the key ${keyFile} is encrypted, and the service supports no passphrases: give it a key that is not encrypted (openssl pkey)`,
    );
  }
  const parsed = inFile("certificate", certificateFile, () => new X509Certificate(certificate));
  const privateKey = inFile("key", keyFile, () => createPrivateKey(key));
  if (!parsed.checkPrivateKey(privateKey)) {
    throw new Error(
      `the key ${keyFile} does not belong to the certificate ${certificateFile}: the first certificate in that file must be the service's own`,
    );
  }
  // Also checks the rest of the chain, and that the TLS library accepts certificate and key.
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
    throw new Error(`the ${what} ${file} is not a usable PEM file: ${(error as Error).message}`, { cause: error });
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
    throw new Error(`${(error as Error).message}; restore it, or remove it: the service then creates a new one, which clients must pin`, {
      cause: error,
    });
  }
}
