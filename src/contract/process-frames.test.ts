import fc from "fast-check";
import { expect, test } from "vitest";
import { FrameParts, frame, frameHead, frameTypes } from "./process-frames.ts";

interface Read {
  readonly type: number;
  readonly data: number[];
}

/** Joins the parts of neighbouring frames of the same type, except of controls. */
function joined(all: readonly Read[]): Read[] {
  const result: Read[] = [];
  for (const { type, data } of all) {
    const last = result.at(-1);
    if (type !== frameTypes.control && last?.type === type) last.data.push(...data);
    else if (type === frameTypes.control || data.length > 0) result.push({ type, data: [...data] });
  }
  return result;
}

test("frames arrive complete, however their bytes are cut", () => {
  const frames = fc.array(fc.record({ type: fc.constantFrom(0, 1, 2, 7), data: fc.array(fc.nat(255), { maxLength: 20 }) }), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(frames, fc.integer({ min: 1, max: 9 }), (sent, size) => {
      const bytes = sent.flatMap(({ type, data }) => [...frame(type, Uint8Array.from(data))]);
      const reader = new FrameParts();
      const read: Read[] = [];
      for (let at = 0; at < bytes.length; at += size)
        for (const { type, data } of reader.take(Uint8Array.from(bytes.slice(at, at + size)))) read.push({ type, data: [...data] });
      expect(joined(read)).toEqual(joined(sent));
    }),
  );
});

test("a control frame that is too large is refused before its content arrives", () => {
  expect(() => new FrameParts().take(frameHead(frameTypes.control, 65_537))).toThrow(RangeError);
});
