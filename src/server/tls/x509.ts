import { createPrivateKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { isIP, isIPv4 } from "node:net";

export interface KeyPair {
  /** PEM. */
  readonly certificate: string;
  /** PEM, PKCS #8. */
  readonly key: string;
}

export interface CertificateRequest {
  /** Common name. */
  readonly subject: string;
  /** DNS names and IP addresses for subjectAltName. */
  readonly names: readonly string[];
  readonly from: Date;
  readonly until: Date;
  /** authority: it signs other certificates; server; member: server and client. */
  readonly use: "authority" | "server" | "member";
  /** The authority that signs it. Absent: self-signed. */
  readonly issuer?: { readonly subject: string; readonly key: string };
}

/** Creates a P-256 key and an X.509 v3 certificate for it (RFC 5280). node:crypto has no function for certificates. */
export function createCertificate({ subject, names, from, until, use, issuer }: CertificateRequest): KeyPair {
  const { publicKey, privateKey: key } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const ecdsaWithSha256 = sequence(oid(1, 2, 840, 10045, 4, 3, 2));
  const isAuthority = use === "authority";
  const purposes = use === "member" ? [oid(...serverAuth), oid(...clientAuth)] : [oid(...serverAuth)];
  const certificate = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(randomBytes(16)),
    ecdsaWithSha256,
    nameOf(issuer?.subject ?? subject),
    sequence(time(from), time(until)),
    nameOf(subject),
    publicKey,
    tagged(
      0xa3,
      sequence(
        extension(oid(2, 5, 29, 19), true, isAuthority ? sequence(tagged(0x01, Buffer.from([0xff]))) : sequence()),
        // keyCertSign, or digitalSignature.
        extension(oid(2, 5, 29, 15), true, tagged(0x03, isAuthority ? Buffer.from([2, 0x04]) : Buffer.from([7, 0x80]))),
        ...(isAuthority ? [] : [extension(oid(2, 5, 29, 37), false, sequence(...purposes))]),
        ...(names.length === 0 ? [] : [extension(oid(2, 5, 29, 17), false, sequence(...names.map(alternativeName)))]),
      ),
    ),
  );
  const signature = sign("sha256", certificate, createPrivateKey(issuer?.key ?? key));
  const der = sequence(certificate, ecdsaWithSha256, tagged(0x03, Buffer.from([0]), signature));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return { certificate: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`, key };
}

const serverAuth = [1, 3, 6, 1, 5, 5, 7, 3, 1] as const;
const clientAuth = [1, 3, 6, 1, 5, 5, 7, 3, 2] as const;

function nameOf(subject: string): Buffer {
  return sequence(tagged(0x31, sequence(oid(2, 5, 4, 3), tagged(0x0c, Buffer.from(subject, "utf8")))));
}

function extension(id: Buffer, critical: boolean, value: Buffer): Buffer {
  return sequence(id, ...(critical ? [tagged(0x01, Buffer.from([0xff]))] : []), tagged(0x04, value));
}

function alternativeName(name: string): Buffer {
  return isIP(name) === 0 ? tagged(0x82, Buffer.from(name, "latin1")) : tagged(0x87, addressBytes(name));
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  // URL normalizes every form of an IPv6 address, such as ::ffff:1.2.3.4, to hexadecimal groups.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const groupsOf = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)));
  const [first, last] = [groupsOf(head), tail === undefined ? [] : groupsOf(tail)];
  const all = [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

/** UTCTime until 2049, GeneralizedTime from 2050 on. */
function time(at: Date): Buffer {
  const digits = `${at.toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`;
  return at.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(digits.slice(2))) : tagged(0x18, Buffer.from(digits));
}

/** A non-negative INTEGER in its shortest form. */
function integer(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const shortest = bytes.subarray(start);
  return tagged(0x02, (shortest[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), shortest]) : shortest);
}

function oid(first: number, second: number, ...rest: readonly number[]): Buffer {
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const groups = [part & 0x7f];
    for (let left = part >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tagged(0x06, Buffer.from(bytes));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, ...parts);
}

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size: number[] = [];
  for (let left = content.length; left > 0; left >>>= 8) size.unshift(left & 0xff);
  const header = content.length < 128 ? [tag, content.length] : [tag, 0x80 | size.length, ...size];
  return Buffer.concat([Buffer.from(header), content]);
}
