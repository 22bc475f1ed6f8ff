import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SelfSigned {
  /** PEM. */
  readonly key: string;
  /** PEM. */
  readonly cert: string;
  /** SHA-256 as openssl prints it: AB:CD:… */
  readonly fingerprint: string;
  /** 64 lowercase hex digits. */
  readonly hex: string;
}

/** A P-256 certificate for localhost and 127.0.0.1, made by openssl, so that fingerprints are checked against another program's. */
export function selfSigned(): SelfSigned {
  const folder = mkdtempSync(join(tmpdir(), "labwright-certificate-"));
  try {
    const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=labwright test", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
    execFileSync("openssl", [...kind, "-keyout", keyFile, "-out", certFile, ...subject], { stdio: "ignore" });
    const shown = execFileSync("openssl", ["x509", "-in", certFile, "-noout", "-fingerprint", "-sha256"], { encoding: "utf8" });
    const fingerprint = (shown.split("=")[1] ?? "").trim();
    const hex = fingerprint.replaceAll(":", "").toLowerCase();
    return { key: readFileSync(keyFile, "utf8"), cert: readFileSync(certFile, "utf8"), fingerprint, hex };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
