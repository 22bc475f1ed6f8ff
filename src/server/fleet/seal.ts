import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

const cipher = "aes-256-gcm";
const ivBytes = 12;
const tagBytes = 16;

/** Encrypts and authenticates a text. @param key 32 bytes */
export function seal(key: Buffer, text: string): string {
  const iv = randomBytes(ivBytes);
  const sealing = createCipheriv(cipher, key, iv);
  const sealed = Buffer.concat([sealing.update(text, "utf8"), sealing.final()]);
  return Buffer.concat([iv, sealing.getAuthTag(), sealed]).toString("base64url");
}

/** Returns the text that `seal` encrypted; undefined for another key, or a changed text. */
export function unseal(key: Buffer, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.length < ivBytes + tagBytes) return undefined;
  const opening = createDecipheriv(cipher, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
  opening.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
  try {
    return Buffer.concat([opening.update(bytes.subarray(ivBytes + tagBytes)), opening.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}

/** A one-time token with which a machine joins. */
export interface JoinToken {
  /** SHA-256 of its id, hex: what the database has of it. */
  readonly hash: string;
  /** Opens what the database keeps for it. */
  readonly secret: Buffer;
}

const idBytes = 16;
const secretBytes = 32;
const prefix = "lwj_";

export function newJoinToken(): JoinToken & { readonly text: string } {
  const bytes = randomBytes(idBytes + secretBytes);
  return { ...partsOf(bytes), text: `${prefix}${bytes.toString("base64url")}` };
}

/** Returns the parts of a token; undefined if the text is none. */
export function readJoinToken(text: string): JoinToken | undefined {
  const bytes = text.startsWith(prefix) ? Buffer.from(text.slice(prefix.length), "base64url") : Buffer.alloc(0);
  return bytes.length === idBytes + secretBytes ? partsOf(bytes) : undefined;
}

function partsOf(bytes: Buffer): JoinToken {
  const hash = createHash("sha256").update(bytes.subarray(0, idBytes)).digest("hex");
  return { hash, secret: bytes.subarray(idBytes) };
}
