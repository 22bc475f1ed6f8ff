import { randomBytes } from "node:crypto";
import { chownSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MachineFacts, MachineStore } from "../../service/store/machines.ts";
import { createCertificate, type KeyPair } from "../tls/x509.ts";
import { newJoinToken, readJoinToken, seal, unseal } from "./seal.ts";

/** Certificate of this machine, and the authority that all machines of the fleet trust. PEM. */
export interface MemberCredentials extends KeyPair {
  readonly authority: string;
}

export interface JoinOptions {
  readonly stateDir: string;
  readonly machines: MachineStore;
  readonly name: string;
  /** Address at which other machines reach this one. */
  readonly url: string;
  /** The one-time token of a new machine. The first machine needs none. */
  readonly token?: string | undefined;
  readonly facts: MachineFacts;
}

/** Makes certificates of the machine with this number. */
export type CredentialsOf = (number: number) => MemberCredentials;

export interface Membership {
  readonly number: number;
  /** Returns a new certificate: valid for 30 days, so it must be renewed before. */
  credentials(): MemberCredentials;
  /** Returns a token with which one machine may join within a time, ms. */
  createToken(lifetimeMs: number): Promise<{ readonly token: string; readonly expiresAt: number }>;
}

const dayMs = 24 * 3_600_000;
const certificateDays = 30;
const keyBytes = 32;
const authoritySubject = "labwright fleet";

/** Common name in the certificate of a machine. */
export function subjectOf(number: number): string {
  return `labwright machine ${number}`;
}

/**
 * Makes this service a machine of its database's fleet; the first one begins the fleet. The fleet's key is in the state directory of each machine, and a
 * token brings it to a new one: the database alone can neither make certificates nor tokens. Throws an Error for the user.
 */
export async function joinFleet({ stateDir, machines, name, url, token: text, facts }: JoinOptions): Promise<Membership> {
  const file = keyFile(stateDir);
  const { key, token } = (await machines.hasJoined()) ? { key: keptKey(file), token: undefined } : await newKey(file, machines, text);
  const credentialsOf = await makerOf(key, { file, machines, url });
  const number = await machines.join({ name, url, facts, ...(token !== undefined && { token }) });
  return {
    number,
    credentials: () => credentialsOf(number),
    createToken: async (lifetimeMs) => {
      const made = newJoinToken();
      const { expiresAt } = await machines.putToken(made.hash, seal(made.secret, key.toString("base64url")), lifetimeMs);
      return { token: made.text, expiresAt };
    },
  };
}

/** Returns the certificates of a state directory that is one of the fleet's machines; undefined: it is not. */
export async function knownCredentials({
  stateDir,
  machines,
  url,
}: Pick<JoinOptions, "stateDir" | "machines" | "url">): Promise<CredentialsOf | undefined> {
  const file = keyFile(stateDir);
  return (await machines.hasJoined()) ? makerOf(keptKey(file), { file, machines, url }) : undefined;
}

function keyFile(stateDir: string): string {
  return join(stateDir, "fleet-key");
}

async function makerOf(
  key: Buffer,
  { file, machines, url }: Pick<JoinOptions, "machines" | "url"> & { readonly file: string },
): Promise<CredentialsOf> {
  const authority = await machines.authority();
  if (authority === undefined) throw new Error("the database has machines but no fleet: restore the database from a backup");
  const authorityKey = unseal(key, authority.sealedKey);
  if (authorityKey === undefined)
    throw new Error(
      `${file} is not the key of this database's fleet: restore it, or remove this machine from the fleet and let it join again`,
    );
  const { hostname } = new URL(url);
  return (number) => ({
    ...createCertificate({
      subject: subjectOf(number),
      names: [hostname.replace(/^\[|\]$/g, "")],
      from: new Date(Date.now() - dayMs),
      until: new Date(Date.now() + certificateDays * dayMs),
      use: "member",
      issuer: { subject: authoritySubject, key: authorityKey },
    }),
    authority: authority.certificate,
  });
}

function keptKey(file: string): Buffer {
  let key: Buffer;
  try {
    key = Buffer.from(readFileSync(file, "utf8").trim(), "base64url");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new Error(
      `the key of the fleet, ${file}, cannot be read (${code}): restore it, or remove this machine (labwright machines remove) and let it join again`,
      { cause: error },
    );
  }
  if (key.length === keyBytes) return key;
  throw new Error(
    `the key of the fleet, ${file}, is damaged: restore it, or remove this machine (labwright machines remove) and let it join again`,
  );
}

/** Returns the fleet's key for a machine that is new: its token brings it, or it begins the fleet. */
async function newKey(
  file: string,
  machines: MachineStore,
  text: string | undefined,
): Promise<{ readonly key: Buffer; readonly token?: string }> {
  if ((await machines.authority()) === undefined) {
    const key = randomBytes(keyBytes);
    const made = createCertificate({
      subject: authoritySubject,
      names: [],
      from: new Date(Date.now() - dayMs),
      until: new Date(Date.now() + 3650 * dayMs),
      use: "authority",
    });
    // Written first: without its key, nobody could use the fleet.
    writeKey(file, key);
    if (await machines.found({ certificate: made.certificate, sealedKey: seal(key, made.key) })) return { key };
    rmSync(file);
  }
  const token = text === undefined ? undefined : readJoinToken(text);
  if (text !== undefined && token === undefined)
    throw new Error("the join token is damaged: give the file that labwright machines token wrote");
  // The first machine, whose start was cut off. For any other one, the database refuses it.
  if (token === undefined && existsSync(file)) return { key: keptKey(file) };
  if (token === undefined)
    throw new Error(
      "the database has a fleet, and this machine is not part of it: write a token of labwright machines token to a file, and name the file with --join-token-file",
    );
  const sealed = await machines.sealedBy(token.hash);
  const opened = sealed === undefined ? undefined : unseal(token.secret, sealed);
  if (opened === undefined) throw new Error("the join token is unknown, used or expired: make a new one with labwright machines token");
  const key = Buffer.from(opened, "base64url");
  writeKey(file, key);
  return { key, token: token.hash };
}

/** Root may write it for a service that runs as another user: the owner of the directory. */
function writeKey(file: string, key: Buffer): void {
  const next = `${file}.new`;
  writeFileSync(next, `${key.toString("base64url")}\n`, { mode: 0o600 });
  const { uid, gid } = statSync(join(file, ".."));
  if (process.getuid?.() === 0) chownSync(next, uid, gid);
  // A full disk, or the end of the machine, must not leave half a key.
  renameSync(next, file);
}
