import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeFrame } from "./frame.ts";

/** Frames of a lab of two FRR routers (OSPF, IS-IS, BGP, pings), and of bridges. Their summaries were compared with tshark. */
const recorded = readFileSync(join(import.meta.dirname, "recorded.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as [string, string, string]);

test.each(recorded.map(([hex, protocols, summary]) => ({ hex, protocols, summary })))("$summary", ({ hex, protocols, summary }) => {
  const decoded = decodeFrame(Buffer.from(hex, "hex"));
  expect([decoded.protocols.join(" "), decoded.summary]).toEqual([protocols, summary]);
});

test("a frame that is cut off anywhere, or broken, is described as far as possible", () => {
  const frames = recorded.map(([hex]) => Buffer.from(hex, "hex"));
  const damaged = fc
    .tuple(fc.constantFrom(...frames), fc.nat(300), fc.array(fc.tuple(fc.nat(300), fc.nat(255)), { maxLength: 8 }))
    .map(([frame, length, changes]) => {
      const bytes = Buffer.from(frame.subarray(0, length));
      for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte;
      return bytes;
    });
  fc.assert(
    fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 200 })), (bytes) => {
      const { protocols, summary } = decodeFrame(bytes);
      expect(protocols[0]).toBe("eth");
      expect(summary).not.toBe("");
      expect(summary).not.toMatch(/undefined|NaN|\n/);
    }),
    { numRuns: 1000 },
  );
});
