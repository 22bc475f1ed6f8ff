import { spawnSync } from "node:child_process";
import { accessSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
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

test.skipIf(!there)("systemd-analyze accepts the unit without a warning", async () => {
  const directory = await mkdtemp(join(tmpdir(), "labwright-unit-"));
  try {
    const file = join(directory, "labwright.service");
    await writeFile(file, systemdUnit([process.execPath, join(directory, "a b.js"), "serve", "--name", "100% $mine"]));
    const { status, stderr } = spawnSync(analyze, ["verify", "--man=no", file], { encoding: "utf8", timeout: 60_000 });
    // systemd-analyze also reports other units of the machine.
    expect(stderr.split("\n").filter((line) => line.includes("labwright"))).toEqual([]);
    expect(status).toBe(0);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
