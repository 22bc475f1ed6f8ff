import { once } from "node:events";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { frame, frameTypes } from "../../contract/process-frames.ts";
import { takeInput } from "./take-input.ts";

/** A program that is never behind, or always until `room` is called. */
function program({ isBehind = false } = {}) {
  const heard: string[] = [];
  let room = (): void => {};
  const process = {
    write: (bytes: Uint8Array) => {
      heard.push(Buffer.from(bytes).toString());
      return isBehind ? new Promise<void>((resolve) => (room = resolve)) : undefined;
    },
    endInput: () => void heard.push("end"),
    resize: () => undefined,
    signal: (number: number) => void heard.push(`signal ${number}`),
  };
  return { heard, process, room: () => room() };
}

const connected = () => new Duplex({ read: () => undefined, write: (_bytes, _encoding, done) => done() });

/** Bytes with memory of their own, as a TLS connection reads them. */
const own = (bytes: Uint8Array) => Buffer.from(Uint8Array.from(bytes).buffer);

test("input goes to the program in its order, and the memory of each read is given back at once, unless it may be shared", async () => {
  const connection = connected();
  const { heard, process } = program();
  takeInput(connection, process);
  const [alone, control] = [
    own(frame(frameTypes.data, Buffer.from("one"))),
    own(frame(frameTypes.control, Buffer.from('{"input_end":true}'))),
  ];
  const slab = Buffer.concat([frame(frameTypes.data, Buffer.from("two")), Buffer.from("of another connection")]);
  const shared = slab.subarray(0, slab.indexOf("of another"));
  for (const bytes of [alone, shared, control]) connection.push(bytes);
  await expect.poll(() => heard).toEqual(["one", "two", "end"]);
  expect([alone, control].map(({ buffer }) => (buffer as ArrayBuffer).detached)).toEqual([true, true]);
  expect(slab.toString()).toContain("of another connection");
});

test("a program that is behind stops the connection until it has room, and a malformed frame closes it", async () => {
  const connection = connected();
  const { heard, process, room } = program({ isBehind: true });
  takeInput(connection, process);
  connection.push(own(frame(frameTypes.data, Buffer.from("one"))));
  await expect.poll(() => connection.isPaused()).toBe(true);
  connection.push(own(frame(frameTypes.data, Buffer.from("two"))));
  expect(heard).toEqual(["one"]);
  room();
  await expect.poll(() => heard).toEqual(["one", "two"]);
  room();
  const closed = once(connection, "close");
  connection.push(own(frame(frameTypes.control, Buffer.from('{"resize":[0,1]}'))));
  await closed;
});
