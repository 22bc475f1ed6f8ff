import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { frame, frameTypes } from "../../contract/process-frames.ts";
import { remoteProcess } from "./process.ts";

const control = (value: object) => frame(frameTypes.control, Buffer.from(JSON.stringify(value)));

/** Bytes whose values encode their position. */
const pattern = (size: number) => Buffer.from(Array.from({ length: size }, (_, at) => (at * 7 + (at >> 8)) & 255));

test("output keeps its order, however its frames are cut, and memory that is given back is used again", async () => {
  const all = pattern(3 << 20);
  for (const cut of [7_777, 100_003]) {
    const connection = new PassThrough();
    const program = remoteProcess("r1", connection);
    const parts = [];
    for (let at = 0; at < all.length; at += 65_536) parts.push(frame(frameTypes.data, all.subarray(at, at + 65_536)));
    const bytes = Buffer.concat([frame(frameTypes.error, Buffer.from("warning")), ...parts, control({ type: "end", exit_code: 3 })]);
    for (let at = 0; at < bytes.length; at += cut) connection.write(bytes.subarray(at, at + cut));
    const got: Buffer[] = [];
    const memories = new Set<ArrayBufferLike>();
    let error = "";
    let end: unknown;
    for await (const item of program) {
      if (item.stream === "end") end = item;
      else if (item.stream === "stderr") error += item.data;
      else {
        got.push(Buffer.from(item.data));
        if (item.data.buffer.byteLength > 65_536) memories.add(item.data.buffer);
        program.reuse(item.data.fill(0));
      }
    }
    expect(Buffer.concat(got).equals(all)).toBe(true);
    expect([error, end]).toEqual(["warning", { stream: "end", exit_code: 3 }]);
    expect(memories.size).toBeLessThanOrEqual(4);
  }
});

test("a program whose output is not read is held back", async () => {
  const connection = new PassThrough();
  const program = remoteProcess("r1", connection);
  const piece = frame(frameTypes.data, Buffer.alloc(100_000));
  let written = 0;
  while (written < 100 && connection.write(piece)) {
    written++;
    await new Promise(setImmediate);
  }
  expect(written).toBeLessThan(20);
  let bytes = 0;
  connection.end(control({ type: "end", exit_code: 0 }));
  for await (const item of program) if (item.stream !== "end") bytes += item.data.length;
  expect(bytes).toBe(100_000 * (written + 1));
});

test("a connection that ends or breaks before the program throws after all output", async () => {
  for (const broken of [undefined, new Error("reset")]) {
    const connection = new PassThrough();
    const program = remoteProcess("r1", connection);
    connection.write(frame(frameTypes.data, Buffer.from("seen")));
    await new Promise(setImmediate);
    if (broken === undefined) connection.end();
    else connection.destroy(broken);
    const texts: string[] = [];
    const reading = (async () => {
      for await (const item of program) if (item.stream !== "end") texts.push(String(item.data));
    })();
    await expect(reading).rejects.toMatchObject({ code: "host_unreachable" });
    expect(texts).toEqual(["seen"]);
  }
});
