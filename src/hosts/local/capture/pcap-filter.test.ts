import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findImages, type LocalImage } from "../images/images.ts";
import { localPaths } from "../machine/paths.ts";
import { compilePcapFilter } from "./pcap-filter.ts";

test("a filter is compiled by an image of set-up, whatever images of others have a tcpdump", async () => {
  const rootfs = await mkdtemp(join(tmpdir(), "labwright-filter-"));
  try {
    await mkdir(join(rootfs, "usr/bin"), { recursive: true });
    await writeFile(join(rootfs, "usr/bin/tcpdump"), "no program", { mode: 0o755 });
    const own = await findImages(localPaths(process.env, process.getuid!()).images);
    const other = { ...own[0]!, name: "aaa", rootfs, container: {} as NonNullable<LocalImage["container"]> };
    expect(await compilePcapFilter([other, ...own], "tcp port 179", "ann")).toEqual(await compilePcapFilter(own, "tcp port 179", "ann"));
    expect(await compilePcapFilter(own, "tcp port 179", "ann")).toMatchObject({ program: expect.stringMatching(/^\d+,/) });
    expect(await compilePcapFilter([other], "tcp", "ann")).toBeUndefined();
  } finally {
    await rm(rootfs, { recursive: true, force: true });
  }
});

test("a filter with a control character, or one that is too long, is a problem of the filter", async () => {
  const images = await findImages(localPaths(process.env, process.getuid!()).images);
  const control = Array.from({ length: 0x20 }, (_, code) => code).filter((code) => ![0x09, 0x0a, 0x0d].includes(code));
  for (const code of [...control, 0x7f]) {
    const problem = /^it has the control character U\+[0-9A-F]{4} at position 4: remove it$/;
    expect(await compilePcapFilter(images, `tcp${String.fromCharCode(code)}`, "ann")).toEqual({ problem: expect.stringMatching(problem) });
  }
  expect(await compilePcapFilter(images, "tcp\n or\tudp", "ann")).toMatchObject({ program: expect.any(String) });
  expect(await compilePcapFilter(images, "tcp or ".repeat(30_000), "ann")).toMatchObject({ problem: expect.stringContaining("4096") });
});
