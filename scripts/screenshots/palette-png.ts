import { crc32, deflateSync, inflateSync } from "node:zlib";

/** A picture without transparency: three bytes per pixel, row by row. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

export const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const colours = 256;

/** Reads a PNG of browsers or of writePng: eight bits per channel or a palette of 256, not interlaced. Drops transparency. */
export function readPng(bytes: Buffer): Picture {
  if (!bytes.subarray(0, 8).equals(signature)) throw new Error("no PNG");
  let [width, height, channels] = [0, 0, 0];
  let palette: Buffer | undefined;
  const data: Buffer[] = [];
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    const body = bytes.subarray(at + 8, at + 8 + length);
    if (type === "IHDR") {
      [width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
      channels = { 2: 3, 3: 1, 6: 4 }[body[9]!] ?? 0;
      if (body[8] !== 8 || channels === 0 || body[12] !== 0) throw new Error("unsupported kind of PNG");
    } else if (type === "PLTE") palette = body;
    else if (type === "IDAT") data.push(body);
    at += length + 12;
  }
  const raw = unfiltered(inflateSync(Buffer.concat(data)), width * channels, channels);
  const pixels = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const [from, at] = palette === undefined ? [raw, pixel * channels] : [palette, raw[pixel]! * 3];
    for (let channel = 0; channel < 3; channel++) pixels[pixel * 3 + channel] = from[at + channel]!;
  }
  return { width, height, pixels };
}

/** Returns a PNG with a palette of the picture's 256 most used colours. Each pixel gets the nearest colour: pages have few colours. */
export function writePng(picture: Picture): Buffer {
  const palette = paletteOf([picture]);
  const { width, height } = picture;
  return Buffer.concat([
    signature,
    headerChunk(width, height),
    paletteChunk(palette),
    chunk("IDAT", deflateSync(rowsOf(indexed(picture, palette), width), { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Returns the 256 most used colours of pictures. */
export function paletteOf(pictures: readonly Picture[]): readonly number[] {
  const counts = new Map<number, number>();
  for (const { pixels } of pictures) {
    for (let at = 0; at < pixels.length; at += 3) {
      const colour = colourAt(pixels, at);
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
  }
  // Sorted by use, then by value, so that the same picture has the same bytes.
  return [...counts]
    .sort(([a, many], [b, more]) => more - many || a - b)
    .slice(0, colours)
    .map(([colour]) => colour);
}

/** Returns the place of each pixel's nearest colour in a palette. */
export function indexed({ width, height, pixels }: Picture, palette: readonly number[]): Uint8Array {
  const index = new Map(palette.map((colour, place) => [colour, place]));
  const places = new Uint8Array(width * height);
  for (let pixel = 0; pixel < places.length; pixel++) {
    const colour = colourAt(pixels, pixel * 3);
    let place = index.get(colour);
    if (place === undefined) {
      place = nearest(palette, colour);
      index.set(colour, place);
    }
    places[pixel] = place;
  }
  return places;
}

/** Returns the rows of a PNG, each without a filter. */
export function rowsOf(places: Uint8Array, width: number): Buffer {
  const height = places.length / width;
  const rows = Buffer.alloc((width + 1) * height);
  for (let row = 0; row < height; row++) rows.set(places.subarray(row * width, (row + 1) * width), row * (width + 1) + 1);
  return rows;
}

export function headerChunk(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return chunk("IHDR", header);
}

export function paletteChunk(palette: readonly number[]): Buffer {
  return chunk("PLTE", Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255])));
}

/** Returns the share of visibly different pixels, 0 to 1; 1 if the sizes differ. */
export function difference(a: Picture, b: Picture): number {
  if (a.width !== b.width || a.height !== b.height) return 1;
  let different = 0;
  for (let at = 0; at < a.pixels.length; at += 3) if (distance(colourAt(a.pixels, at), colourAt(b.pixels, at)) > 1_200) different++;
  return different / (a.width * a.height);
}

function colourAt(pixels: Uint8Array, at: number): number {
  return (pixels[at]! << 16) | (pixels[at + 1]! << 8) | pixels[at + 2]!;
}

/** The square of the distance. */
function distance(a: number, b: number): number {
  const [red, green, blue] = [(a >> 16) - (b >> 16), ((a >> 8) & 255) - ((b >> 8) & 255), (a & 255) - (b & 255)];
  return red * red + green * green + blue * blue;
}

function nearest(palette: readonly number[], colour: number): number {
  let best = 0;
  for (let place = 1; place < palette.length; place++) {
    if (distance(palette[place]!, colour) < distance(palette[best]!, colour)) best = place;
  }
  return best;
}

export function chunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const whole = Buffer.alloc(named.length + 8);
  whole.writeUInt32BE(body.length, 0);
  named.copy(whole, 4);
  whole.writeUInt32BE(crc32(named), named.length + 4);
  return whole;
}

/** Removes the PNG filters from the rows. */
function unfiltered(data: Buffer, rowBytes: number, pixelBytes: number): Buffer {
  const rows = Math.floor(data.length / (rowBytes + 1));
  const out = Buffer.alloc(rows * rowBytes);
  for (let row = 0; row < rows; row++) {
    const filter = data[row * (rowBytes + 1)]!;
    for (let at = 0; at < rowBytes; at++) {
      const here = row * rowBytes + at;
      const left = at < pixelBytes ? 0 : out[here - pixelBytes]!;
      const up = row === 0 ? 0 : out[here - rowBytes]!;
      const corner = row === 0 || at < pixelBytes ? 0 : out[here - rowBytes - pixelBytes]!;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      if (guess === undefined) throw new Error("unsupported PNG filter");
      out[here] = data[row * (rowBytes + 1) + 1 + at]! + guess;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [toLeft, toUp, toCorner] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}
