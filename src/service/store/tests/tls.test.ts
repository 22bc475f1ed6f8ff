import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { selfSigned } from "../../../../test/self-signed.ts";
import { type PostgresAddress, postgresAddress } from "../address/address.ts";
import { postgresStore } from "../postgres/postgres-store.ts";
import { cluster, postgresPrograms } from "../testing/cluster.fixture.ts";

let folder: string;
let made: Promise<PostgresAddress> | undefined;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "labwright-postgres-tls-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function connect(query: (certificate: string) => string, { host, password = "secret" }: { host?: string; password?: string } = {}) {
  const { tls, database, query: asSuperuser } = await cluster();
  made ??= database();
  const { config } = await made;
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  const url = `postgres://remote@${host ?? tls.address}/${config.database}?${query(encodeURIComponent(tls.certificate))}`;
  const store = await postgresStore(postgresAddress(url, { passwordFile }), { installation: "one", log: () => {} });
  const [backends] = await asSuperuser(
    String(config.database),
    "SELECT count(*) AS all, count(*) FILTER (WHERE ssl) AS encrypted FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'remote'",
  );
  await store.close();
  return backends!;
}

describe.skipIf(postgresPrograms === undefined)("a store over a network", () => {
  test("with sslmode=verify-full is encrypted, and its listener for notices too", async () => {
    const { all, encrypted } = await connect((certificate) => `sslmode=verify-full&sslrootcert=${certificate}`);
    expect(Number(all)).toBeGreaterThan(1);
    expect(encrypted).toBe(all);
  });

  test("takes sslmode as libpq does: require encrypts without a check, verify-ca checks the certificate but not the name", async () => {
    const { unnamed } = (await cluster()).tls;
    const ca = (certificate: string) => `sslmode=verify-ca&sslrootcert=${certificate}`;
    for (const made of [await connect(() => "sslmode=require", { host: unnamed }), await connect(ca, { host: unnamed })]) {
      expect(Number(made.all)).toBeGreaterThan(1);
      expect(made.encrypted).toBe(made.all);
    }
    const other = join(folder, "other-ca.pem");
    writeFileSync(other, selfSigned().cert);
    await expect(connect(() => `sslmode=verify-ca&sslrootcert=${other}`)).rejects.toThrow("self-signed certificate");
  });

  test("refuses a server with another certificate or another name, a wrong password, and a server that wants encryption", async () => {
    const other = join(folder, "other.pem");
    writeFileSync(other, selfSigned().cert);
    const { unnamed } = (await cluster()).tls;
    const own = (certificate: string) => `sslmode=verify-full&sslrootcert=${certificate}`;
    const refusals = [
      [() => connect(() => `sslmode=verify-full&sslrootcert=${other}`), /cannot be used: self-signed certificate/],
      [() => connect(() => "sslmode=verify-full"), /cannot be used: self-signed certificate/],
      [() => connect(own, { host: unnamed }), /cannot be used: Hostname\/IP does not match certificate's altnames/],
      [() => connect(own, { password: "wrong" }), /the password is wrong/],
      [() => connect(own, { password: "" }), /the server asks for a password, and there is none/],
      [() => connect(() => "sslmode=disable"), /pg_hba\.conf/],
    ] as const;
    for (const [refused, reason] of refusals) {
      const error = await refused().then(
        () => undefined,
        (why: Error) => why,
      );
      expect(error?.message, String(reason)).toMatch(reason);
      expect(error?.message).not.toContain("secret");
    }
  });
});
