import { createCertificate, type KeyPair } from "./x509.ts";

export interface SelfSignedOptions {
  /** DNS names and IP addresses for subjectAltName. */
  readonly names: readonly string[];
  readonly from: Date;
  readonly until: Date;
}

/** Creates a key and a self-signed server certificate for it. */
export function selfSigned(options: SelfSignedOptions): KeyPair {
  return createCertificate({ ...options, subject: "labwright", use: "server" });
}
