import { deflateSync } from "node:zlib";
import { chunk, headerChunk, indexed, type Picture, paletteChunk, paletteOf, rowsOf, signature } from "./palette-png.ts";

export interface Frame {
  readonly picture: Picture;
  /** How long it is shown, ms. */
  readonly ms: number;
}

interface Part {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly places: Uint8Array;
}

/** Returns an animated PNG that repeats for ever. All frames have one palette and one size; each contains only the rectangle that changed. */
export function writeAnimatedPng(frames: readonly Frame[]): Buffer {
  const [first] = frames;
  if (first === undefined) throw new Error("no frames");
  const { width, height } = first.picture;
  const palette = paletteOf(frames.map(({ picture }) => picture));
  const shown = frames.map(({ picture }) => indexed(picture, palette));
  const chunks: Buffer[] = [];
  let sequence = 0;
  const numbered = () => {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(sequence++, 0);
    return number;
  };
  for (const [at, { ms }] of frames.entries()) {
    const part = at === 0 ? { x: 0, y: 0, width, height, places: shown[0]! } : changedPart(shown[at - 1]!, shown[at]!, width);
    chunks.push(chunk("fcTL", Buffer.concat([numbered(), frameControl(part, ms)])));
    const data = deflateSync(rowsOf(part.places, part.width), { level: 9 });
    chunks.push(at === 0 ? chunk("IDAT", data) : chunk("fdAT", Buffer.concat([numbered(), data])));
  }
  const control = Buffer.alloc(8);
  control.writeUInt32BE(frames.length, 0);
  return Buffer.concat([
    signature,
    headerChunk(width, height),
    chunk("acTL", control),
    paletteChunk(palette),
    ...chunks,
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function frameControl({ x, y, width, height }: Part, ms: number): Buffer {
  const control = Buffer.alloc(22);
  for (const [at, value] of [width, height, x, y].entries()) control.writeUInt32BE(value, at * 4);
  control.writeUInt16BE(ms, 16);
  control.writeUInt16BE(1000, 18);
  return control;
}

/** Returns the smallest rectangle that contains all changed pixels; without a change, one pixel. */
function changedPart(before: Uint8Array, after: Uint8Array, width: number): Part {
  let [left, top, right, bottom] = [width, after.length / width, -1, -1];
  for (let at = 0; at < after.length; at++) {
    if (before[at] === after[at]) continue;
    const [x, y] = [at % width, Math.floor(at / width)];
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  }
  if (right < 0) [left, top, right, bottom] = [0, 0, 0, 0];
  const [partWidth, partHeight] = [right - left + 1, bottom - top + 1];
  const places = new Uint8Array(partWidth * partHeight);
  for (let row = 0; row < partHeight; row++) {
    const start = (top + row) * width + left;
    places.set(after.subarray(start, start + partWidth), row * partWidth);
  }
  return { x: left, y: top, width: partWidth, height: partHeight, places };
}
