import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { serverCertificate } from "./certificate.ts";
import { selfSigned } from "./self-signed.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "labwright-certificate-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test("the self-signed certificate contains localhost, the loopback addresses, the machine's name and the configured names", async () => {
  const made = await serverCertificate({ stateDir: dir, names: ["lab.example", "2001:db8::10"] });
  const certificate = new X509Certificate(made.certificate);
  for (const name of ["localhost", hostname(), "lab.example"]) expect(certificate.checkHost(name)).toBe(name);
  for (const address of ["127.0.0.1", "::1", "2001:db8::10"]) expect(certificate.checkIP(address)).toBe(address);
  expect(certificate.checkHost("other.example")).toBeUndefined();
});

test("the self-signed certificate is a valid P-256 certificate signed by its own key, and no authority", async () => {
  const made = await serverCertificate({ stateDir: dir });
  const certificate = new X509Certificate(made.certificate);
  expect(certificate.publicKey.asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.checkPrivateKey(createPrivateKey(made.key))).toBe(true);
  expect(certificate.ca).toBe(false);
  expect(made.fingerprint).toBe(certificate.fingerprint256);
});

test("a second start uses the same certificate, in a file that only its owner can read", async () => {
  const first = await serverCertificate({ stateDir: dir });
  const second = await serverCertificate({ stateDir: dir, names: ["new.example"] });
  expect(second.fingerprint).toBe(first.fingerprint);
  expect((await stat(join(dir, "server.pem"))).mode & 0o777).toBe(0o600);
});

test("an expired certificate is replaced with a warning that names the new fingerprint, and an early warning precedes it", async () => {
  const warnings: string[] = [];
  const options = { stateDir: dir, warn: (text: string) => void warnings.push(text) };
  const first = await serverCertificate(options);
  expect(warnings).toEqual([]);
  const soon = new Date(Date.now() + 3640 * 24 * 60 * 60 * 1000);
  expect((await serverCertificate(options, soon)).fingerprint).toBe(first.fingerprint);
  expect(warnings.splice(0)).toEqual([expect.stringMatching(/server\.pem\) expires on \d{4}-\d\d-\d\d: .*clients must pin/)]);
  const later = new Date(Date.now() + 3651 * 24 * 60 * 60 * 1000);
  const second = await serverCertificate(options, later);
  expect(warnings).toEqual([expect.stringMatching(new RegExp(`expired on .*new one was created: .*sha256:${second.fingerprint}`))]);
  expect(second.fingerprint).not.toBe(first.fingerprint);
  expect(new Date(new X509Certificate(second.certificate).validTo) > later).toBe(true);
});

test("dates from 2050 on are encoded correctly", () => {
  const from = new Date("2049-12-31T23:59:59Z");
  const until = new Date("2050-01-01T00:00:00Z");
  const certificate = new X509Certificate(selfSigned({ names: ["localhost"], from, until }).certificate);
  expect(new Date(certificate.validFrom)).toEqual(from);
  expect(new Date(certificate.validTo)).toEqual(until);
});

test("the user's own certificate is used unchanged", async () => {
  const own = selfSigned({ names: ["own.example"], from: new Date(), until: new Date(Date.now() + 1e9) });
  const paths = { certificate: join(dir, "own.crt"), key: join(dir, "own.key") };
  await writeFile(paths.certificate, own.certificate);
  await writeFile(paths.key, own.key);
  const used = await serverCertificate({ stateDir: dir, own: paths });
  expect(used).toEqual({ ...own, fingerprint: new X509Certificate(own.certificate).fingerprint256 });
});

async function ownFiles(from: Date, until: Date) {
  const own = selfSigned({ names: ["own.example"], from, until });
  const paths = { certificate: join(dir, "own.crt"), key: join(dir, "own.key") };
  await writeFile(paths.certificate, own.certificate);
  await writeFile(paths.key, own.key);
  return paths;
}

test("a warning names the file of the user's own certificate and the remedy, if it has expired or expires soon", async () => {
  const warnings: string[] = [];
  const warn = (text: string) => void warnings.push(text);
  const day = 24 * 60 * 60 * 1000;
  const now = Date.now();
  for (const left of [-day, 10 * day, 90 * day]) {
    const own = await ownFiles(new Date(now - 100 * day), new Date(now + left));
    await serverCertificate({ stateDir: dir, own, warn });
  }
  expect(warnings).toEqual([
    expect.stringMatching(/own\.crt expired on .*renew it, then systemctl reload/),
    expect.stringMatching(/own\.crt expires on .*renew it/),
  ]);
});

test("an error names a certificate file that cannot be used, and the problem", async () => {
  const own = await ownFiles(new Date(), new Date(Date.now() + 1e10));
  const other = selfSigned({ names: ["x"], from: new Date(), until: new Date(Date.now() + 1e9) });
  const fails = async (file: string, text: string, expected: RegExp) => {
    const before = await readFile(file, "utf8");
    await writeFile(file, text);
    await expect(serverCertificate({ stateDir: dir, own })).rejects.toThrow(expected);
    await writeFile(file, before);
  };
  await fails(own.certificate, "nonsense", /certificate \S+own\.crt is not a usable PEM file/);
  await fails(own.key, "-----BEGIN PRIVATE KEY-----\nAAAA\n", /key \S+own\.key is not a usable PEM file/);
  await fails(own.key, other.key, /key \S+own\.key does not belong to the certificate \S+own\.crt/);
  const key = createPrivateKey(other.key).export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" });
  await fails(own.key, String(key), /own\.key is encrypted/);
  await rm(own.key);
  await expect(serverCertificate({ stateDir: dir, own })).rejects.toThrow(/key \S+own\.key cannot be read \(ENOENT\)/);
  await writeFile(join(dir, "server.pem"), "torn");
  await expect(serverCertificate({ stateDir: dir })).rejects.toThrow(/server\.pem is not a usable PEM file.*restore it, or remove it/);
  expect(await readFile(join(dir, "server.pem"), "utf8")).toBe("torn");
});

test("a state directory that cannot be read is an error, not a new certificate", async () => {
  await serverCertificate({ stateDir: dir });
  await rm(join(dir, "server.pem"));
  await writeFile(join(dir, "not-a-dir"), "");
  await chmod(join(dir, "not-a-dir"), 0o600);
  await expect(serverCertificate({ stateDir: join(dir, "not-a-dir") })).rejects.toThrow(/ENOTDIR/);
});
