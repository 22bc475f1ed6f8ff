import { spawnSync } from "node:child_process";
import { accessSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { apiUnit, apiUser } from "./api-unit.ts";
import { systemdUnit } from "./systemd-unit.ts";

const analyze = "/usr/bin/systemd-analyze";
const there = (() => {
  try {
    accessSync(analyze);
    return true;
  } catch {
    return false;
  }
})();

test("the unit does not stop labs when it stops, and delegates cgroups to them", () => {
  const unit = systemdUnit(["/usr/bin/node", "/opt/labwright/dist/cli/main.js", "serve", "--port", "8443"]);
  expect(unit).toMatch(/^ExecStart=\/usr\/bin\/node \/opt\/labwright\/dist\/cli\/main\.js serve --port 8443$/m);
  expect(unit).toMatch(/^KillMode=process$/m);
  expect(unit).toMatch(/^Delegate=yes$/m);
  expect(unit).not.toMatch(/^(PrivateTmp|ProtectSystem|RuntimeDirectory)=/m);
});

test("special characters of systemd are escaped in arguments", () => {
  const line = /^ExecStart=(.*)$/m.exec(systemdUnit(["/bin/echo", "a b", "100%", "$HOME", 'say "x\\y"']))?.[1];
  expect(line).toBe('/bin/echo "a b" 100%% $$HOME "say \\"x\\\\y\\""');
});

test.skipIf(!there).each([
  ["labwright", systemdUnit],
  ["labwright-api", apiUnit],
] as const)("systemd-analyze accepts the unit %s without a warning", async (name, unitOf) => {
  const directory = await mkdtemp(join(tmpdir(), "labwright-unit-"));
  try {
    const file = join(directory, `${name}.service`);
    await writeFile(file, unitOf([process.execPath, join(directory, "a b.js"), "serve", "--name", "100% $mine"]));
    const { status, stderr } = spawnSync(analyze, ["verify", "--man=no", file], { encoding: "utf8", timeout: 60_000 });
    // systemd-analyze also reports other units of the machine.
    expect(stderr.split("\n").filter((line) => line.includes("labwright"))).toEqual([]);
    expect(status).toBe(0);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

test.skipIf(!there)("systemd-analyze security finds little that the unit without labs could do", async () => {
  const directory = await mkdtemp(join(tmpdir(), "labwright-unit-"));
  try {
    const file = join(directory, "labwright-api.service");
    await writeFile(file, apiUnit(["/usr/bin/labwright", "serve"]));
    // Exposure from 0 to 100. A unit without any restriction has 96.
    const { status, stdout, stderr } = spawnSync(analyze, ["security", "--offline=true", "--no-pager", "--threshold=20", file], {
      encoding: "utf8",
      timeout: 60_000,
    });
    expect(stderr).toBe("");
    expect(stdout).toContain("Overall exposure level for labwright-api.service");
    expect({ status, exposed: status === 0 ? "" : stdout }).toEqual({ status: 0, exposed: "" });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

test("the unit without labs runs as a user of its own, with its own variables, and keeps nothing of a lab machine", () => {
  const unit = apiUnit(["/usr/bin/labwright", "serve"]);
  expect(unit).toContain(`User=${apiUser}\n`);
  expect(unit).toMatch(/^EnvironmentFile=-\/etc\/default\/labwright-api$/m);
  expect(unit).toMatch(/^Environment=LABWRIGHT_HOST=none /m);
  expect(unit).not.toMatch(/^(KillMode|Delegate|MemoryDenyWriteExecute)=/m);
});
