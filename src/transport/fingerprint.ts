import { Failure } from "../contract/errors.ts";

/**
 * Parses a certificate's SHA-256 fingerprint into 64 lowercase hex digits: with or without colons, in any case, with or without a prefix: `sha256:`, or openssl's `sha256 Fingerprint=`.
 * Throws tls_pin_mismatch for any other text, because no certificate can have such a fingerprint.
 */
export function parseFingerprint(text: string): string {
  const given = text.trim().replace(/^sha-?256(?: fingerprint)?[:=]/i, "");
  if (!/^[0-9a-f]{2}(:?[0-9a-f]{2}){31}$/i.test(given)) {
    throw new Failure("tls_pin_mismatch", `"${text}" is not a SHA-256 fingerprint (64 hex digits, colons between pairs allowed)`);
  }
  return given.replaceAll(":", "").toLowerCase();
}

/** Formats a fingerprint as openssl, browsers and `labwright serve` do: AB:CD:… */
export function showFingerprint(hex: string): string {
  return hex.toUpperCase().match(/../g)?.join(":") ?? "";
}
