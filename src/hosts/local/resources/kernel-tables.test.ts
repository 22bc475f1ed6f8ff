import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { kernelTables, raiseKernelTables } from "./kernel-tables.ts";

const GiB = 2 ** 30;

/** A copy of the settings with these values. */
function settings(values: Readonly<Record<string, number>>): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), "labwright-tables-"));
  for (const [name, value] of Object.entries(values)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), `${value}\n`);
  }
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

test("shared kernel tables are raised to what labs need, never lowered, and each change is reported", () => {
  using sys = settings({
    "net/ipv4/neigh/default/gc_thresh3": 1024,
    "net/ipv4/neigh/default/gc_thresh2": 9_000_000,
    "kernel/pty/max": 4096,
    "fs/file-max": 800_000,
  });
  expect(raiseKernelTables(4 * GiB, sys.path)).toEqual([
    "net.ipv4.neigh.default.gc_thresh3 raised from 1024 to 262144: all labs share this table of the kernel",
    "kernel.pty.max raised from 4096 to 65536: all labs share this table of the kernel",
    "fs.file-max raised from 800000 to 1099511627776: all labs share this table of the kernel",
  ]);
  expect(readFileSync(join(sys.path, "net/ipv4/neigh/default/gc_thresh2"), "utf8")).toBe("9000000\n");
  expect(raiseKernelTables(4 * GiB, sys.path)).toEqual([]);
});

test("a setting that cannot be raised is reported with its consequence", () => {
  using sys = settings({ "kernel/pty/max/in-the-way": 0 });
  expect(raiseKernelTables(GiB, sys.path)).toEqual([
    expect.stringMatching(/^kernel\.pty\.max could not be raised to 65536, so one node can fill a table that all labs share: EISDIR/),
  ]);
});

test("neighbour tables of both families together take at most a sixteenth of the memory, if the machine has 256 MiB or more", () => {
  const bytesPerEntry = 512;
  for (const memory of [0.25 * GiB, GiB, 3 * GiB, 24 * GiB, 4096 * GiB]) {
    const most = kernelTables(memory).filter(({ setting }) => setting.endsWith("gc_thresh3"));
    expect(most).toHaveLength(2);
    const bytes = most.reduce((sum, { wanted }) => sum + wanted * bytesPerEntry, 0);
    expect(bytes).toBeLessThanOrEqual(memory / 16);
    expect(most[0]!.wanted).toBeGreaterThanOrEqual(16_384);
  }
});
