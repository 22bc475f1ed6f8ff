import { Duplex } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { TelnetCodec, telnetStream } from "./telnet.ts";

function peer() {
  const replies: Buffer[] = [];
  const codec = new TelnetCodec((bytes) => replies.push(bytes), { columns: 132, rows: 255 });
  return { codec, replied: () => Buffer.concat(replies).toString("hex") };
}

test("the first negotiation of a QEMU wrapper is answered once and hidden", () => {
  const { codec, replied } = peer();
  // WILL ECHO, WILL SGA, WILL BINARY, DO BINARY, then the window title.
  const hello = Buffer.from("fffb01fffb03fffb00fffd00", "hex");
  const title = "\x1b]0;R1\x07";
  expect(codec.decode(Buffer.concat([hello, Buffer.from(`${title}R1#`)])).toString()).toBe(`${title}R1#`);
  expect(replied()).toBe("fffd01fffd03fffd00fffb00");
  expect(codec.decode(hello).length).toBe(0);
  expect(replied()).toBe("fffd01fffd03fffd00fffb00");
});

test("unknown options are refused", () => {
  const { codec, replied } = peer();
  codec.decode(Buffer.from("fffb2afffd2a", "hex"));
  expect(replied()).toBe("fffe2afffc2a");
});

test("terminal type and window size are sent when asked for, with 255 doubled", () => {
  const { codec, replied } = peer();
  codec.decode(Buffer.from("fffd18fffa1801fff0fffd1f", "hex"));
  const type = `fffa1800${Buffer.from("xterm").toString("hex")}fff0`;
  expect(replied()).toBe(`fffb18${type}fffb1ffffa1f008400fffffff0`);
});

test("a carriage return travels as CR NUL until both sides are binary", () => {
  const { codec } = peer();
  expect(codec.encode(Buffer.from("a\r")).toString("hex")).toBe("610d00");
  expect(codec.decode(Buffer.from("610d00", "hex")).toString("hex")).toBe("610d");
  codec.decode(Buffer.from("fffd00fffb00", "hex"));
  expect(codec.encode(Buffer.from("a\r")).toString("hex")).toBe("610d");
  expect(codec.decode(Buffer.from("0d00", "hex")).toString("hex")).toBe("0d00");
});

test("any data passes unchanged, in any division into chunks", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.integer({ min: 1, max: 7 })), fc.boolean(), (data, cuts, binary) => {
      const [sender, receiver] = [peer().codec, peer().codec];
      if (binary) {
        sender.decode(Buffer.from("fffd00", "hex"));
        receiver.decode(Buffer.from("fffb00", "hex"));
      }
      const wire = sender.encode(data);
      const got: Buffer[] = [];
      let at = 0;
      for (const cut of [...cuts, wire.length]) {
        got.push(receiver.decode(wire.subarray(at, at + cut)));
        at += cut;
      }
      expect(Buffer.concat(got).equals(Buffer.from(data))).toBe(true);
    }),
  );
});

test("a peer that sends requests without reading is not read, until it has read the replies", async () => {
  const written: { readonly bytes: number; readonly done: () => void }[] = [];
  let asked = 0;
  let asking = true;
  const socket = new Duplex({
    read() {
      if (!asking) return;
      asked += 3 * 1000;
      this.push(Buffer.from("fffd2a".repeat(1000), "hex"));
    },
    write: (bytes: Buffer, _encoding, done) => void written.push({ bytes: bytes.length, done }),
  });
  const { stream } = telnetStream(socket);
  stream.resume();
  await expect.poll(() => socket.isPaused()).toBe(true);
  for (let turn = 0; turn < 50; turn++) await new Promise((settle) => setImmediate(settle));
  // Only the data that a stream has read ahead may still come.
  expect(asked).toBeLessThan(1 << 20);
  asking = false;
  for (let answered = 0; answered < asked; ) {
    await expect.poll(() => written.length).toBeGreaterThan(0);
    const { bytes, done } = written.shift()!;
    answered += bytes;
    done();
  }
  await expect.poll(() => socket.isPaused()).toBe(false);
  stream.destroy();
});
