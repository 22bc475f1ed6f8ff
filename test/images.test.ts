import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { writeAnimatedPng } from "../scripts/screenshots/animated-png.ts";
import { difference, readPng, writePng } from "../scripts/screenshots/palette-png.ts";

/** The pictures of the documentation: those that pages show are there, those that are there are shown, and they are small. */

const root = join(import.meta.dirname, "..");
const folder = "docs/img";
const mostBytes = 1_500_000;

async function shown(page: string): Promise<readonly string[]> {
  const text = await readFile(join(root, page), "utf8");
  return [...text.matchAll(/!\[[^\]]+\]\(([^)\s]+)\)|<(?:img|source)[^>]+(?:src|srcset)="([^"]+)"/g)].map(([, link, source]) =>
    join(dirname(page), link ?? source ?? ""),
  );
}

test("each picture that README and docs/web.md show is a PNG with a palette, and no other is kept", async () => {
  const named = new Set([...(await shown("README.md")), ...(await shown("docs/web.md"))]);
  expect(named.size).toBeGreaterThan(5);
  const kept = (await readdir(join(root, folder))).map((name) => join(folder, name));
  expect(kept.sort()).toEqual([...named].sort());
  for (const name of kept) {
    const bytes = await readFile(join(root, name));
    expect([name, bytes.toString("latin1", 1, 4), bytes[25]]).toEqual([name, "PNG", 3]);
  }
});

test("all of them together are small", async () => {
  const sizes = await Promise.all((await readdir(join(root, folder))).map((name) => stat(join(root, folder, name))));
  expect(sizes.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(mostBytes);
});

test("a picture is read as it was written, and a difference is reported as a share of pixels", () => {
  const [width, height] = [40, 30];
  const pixels = Uint8Array.from({ length: width * height * 3 }, (_, at) => ((at * 7) % 5) * 60);
  const picture = { width, height, pixels };
  const again = readPng(writePng(picture));
  expect(again).toEqual(picture);
  expect(difference(picture, again)).toBe(0);
  const other = Uint8Array.from(pixels);
  other.fill(255, 0, 30 * 3);
  expect(difference(picture, { ...picture, pixels: other })).toBeCloseTo(30 / (width * height), 2);
  expect(difference(picture, { ...picture, height: 29 })).toBe(1);
});

test("an animated picture has the first frame as its picture, and of each further frame the part that changed", () => {
  const [width, height] = [20, 10];
  const plain = { width, height, pixels: new Uint8Array(width * height * 3).fill(255) };
  const pixels = Uint8Array.from(plain.pixels);
  // The pixel in column 7 of row 4.
  pixels.fill(0, (4 * width + 7) * 3, (4 * width + 8) * 3);
  const bytes = writeAnimatedPng([
    { picture: plain, ms: 500 },
    { picture: { ...plain, pixels }, ms: 100 },
    { picture: { ...plain, pixels }, ms: 100 },
  ]);
  expect(readPng(bytes)).toEqual(plain);
  const chunks: { readonly type: string; readonly body: Buffer }[] = [];
  for (let at = 8; at < bytes.length; at += bytes.readUInt32BE(at) + 12) {
    const length = bytes.readUInt32BE(at);
    chunks.push({ type: bytes.toString("latin1", at + 4, at + 8), body: bytes.subarray(at + 8, at + 8 + length) });
  }
  expect(chunks.map(({ type }) => type)).toEqual(["IHDR", "acTL", "PLTE", "fcTL", "IDAT", "fcTL", "fdAT", "fcTL", "fdAT", "IEND"]);
  const frames = chunks.filter(({ type }) => type === "fcTL").map(({ body }) => [4, 8, 12, 16].map((at) => body.readUInt32BE(at)));
  expect(frames).toEqual([
    [width, height, 0, 0],
    [1, 1, 7, 4],
    [1, 1, 0, 0],
  ]);
  expect(chunks.filter(({ type }) => type === "fcTL" || type === "fdAT").map(({ body }) => body.readUInt32BE(0))).toEqual([0, 1, 2, 3, 4]);
});
