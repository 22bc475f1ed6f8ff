import fc from "fast-check";
import { expect, test } from "vitest";
import { type Frame, FrameReader } from "./wire.ts";

function encoded({ type, data }: Frame): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32LE(data.length + 1, 0);
  head.write(type, 4);
  return Buffer.concat([head, data]);
}

test("frames come out as they went in, wherever the stream is cut, and the rest is what follows them", () => {
  const frame = fc.record({
    type: fc.constantFrom("R", "N", "O"),
    data: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  });
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), fc.uint8Array({ maxLength: 3 }), fc.array(fc.nat(12)), (frames, rest, cuts) => {
      const stream = Buffer.concat([...frames.map(encoded), rest]);
      const reader = new FrameReader();
      const read: Frame[] = [];
      const drain = () => {
        for (let next = reader.next(); next !== undefined; next = reader.next()) read.push(next);
      };
      let at = 0;
      for (const size of cuts) {
        reader.push(stream.subarray(at, at + size));
        at = Math.min(stream.length, at + size);
        drain();
      }
      reader.push(stream.subarray(at));
      drain();
      expect(read.map(encoded)).toEqual(frames.map(encoded));
      expect(Buffer.from(reader.rest())).toEqual(Buffer.from(rest));
    }),
  );
});

test("output comes in pieces, as it arrives, in the order of the frames, and other frames whole", () => {
  const frame = fc.record({
    type: fc.constantFrom("O", "X", "D"),
    data: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  });
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), fc.array(fc.nat(12)), (frames, cuts) => {
      const stream = Buffer.concat(frames.map(encoded));
      const reader = new FrameReader();
      const read: Frame[] = [];
      const push = (from: number, to: number) => {
        reader.push(stream.subarray(from, to));
        for (let next = reader.nextPiece(); next !== undefined; next = reader.nextPiece()) read.push(next);
      };
      let at = 0;
      for (const size of cuts) {
        push(at, at + size);
        at = Math.min(stream.length, at + size);
      }
      push(at, stream.length);
      const text = (list: readonly Frame[]) =>
        list.reduce<{ type: string; hex: string }[]>((merged, { type, data }) => {
          const last = merged.at(-1);
          if (last !== undefined && type !== "D" && last.type === type) last.hex += data.toString("hex");
          else if (type === "D" || data.length > 0) merged.push({ type, hex: data.toString("hex") });
          return merged;
        }, []);
      expect(text(read)).toEqual(text(frames));
    }),
  );
});

test("a frame without a type is refused", () => {
  const reader = new FrameReader();
  reader.push(Buffer.alloc(4));
  expect(() => reader.next()).toThrow(RangeError);
  expect(() => reader.nextPiece()).toThrow(RangeError);
});
