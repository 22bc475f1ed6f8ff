import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findImages, type LocalImage } from "./images.ts";
import { localPaths } from "./paths.ts";
import { compilePcapFilter } from "./pcap-filter.ts";

test("a filter is compiled by an image of set-up, whatever images of others have a tcpdump", async () => {
  const rootfs = await mkdtemp(join(tmpdir(), "labwright-filter-"));
  try {
    await mkdir(join(rootfs, "usr/bin"), { recursive: true });
    await writeFile(join(rootfs, "usr/bin/tcpdump"), "no program", { mode: 0o755 });
    const own = await findImages(localPaths(process.env, process.getuid!()).images);
    const other = { ...own[0]!, name: "aaa", rootfs, container: {} as NonNullable<LocalImage["container"]> };
    expect(await compilePcapFilter([other, ...own], "tcp port 179")).toEqual(await compilePcapFilter(own, "tcp port 179"));
    expect(await compilePcapFilter(own, "tcp port 179")).toMatchObject({ program: expect.stringMatching(/^\d+,/) });
    expect(await compilePcapFilter([other], "tcp")).toBeUndefined();
  } finally {
    await rm(rootfs, { recursive: true, force: true });
  }
});
