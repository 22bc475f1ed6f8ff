import { describe, expect, test } from "vitest";
import { localPaths } from "../../src/hosts/local/machine/paths.ts";
import { packageFiles } from "./machine-files.ts";
import { microVmLacks, runMicroVm } from "./microvm.ts";

const { images } = localPaths(process.env, process.getuid?.() ?? 0);

describe.skipIf((await microVmLacks(images)) !== undefined)("a virtual machine of tests", () => {
  const run = async (command: string, lines?: string[]) =>
    runMicroVm(images, {
      files: await packageFiles(["coreutils", "dash", "iproute2", "mount"], "machine"),
      command,
      memoryMb: 512,
      seed: 1,
      limitMs: 170_000,
      ...(lines !== undefined && { onLine: (line: string) => void lines.push(line) }),
    });

  test("returns the command's output and exit code, on a clock that skips idle time", async () => {
    const lines: string[] = [];
    const { code, output } = await run(
      "echo begin; sleep 60; echo end >&2; grep -c . /proc/uptime; cat /sys/fs/cgroup/cgroup.controllers; exit 7\n",
      lines,
    );
    expect(code).toBe(7);
    expect(output).toMatch(/^begin\nend\n/);
    expect(output).toMatch(/\bmemory\b.*\bpids\b/);
    expect(lines.slice(0, 2)).toEqual(["begin", "end"]);
  });

  test("that ends without an exit code fails with what its command and its kernel printed", async () => {
    const attempt = run("echo so far; sleep 1; echo c > /proc/sysrq-trigger\n");
    await expect(attempt).rejects.toThrow(/without an exit code.*so far.*sysrq triggered crash/is);
  });
});
