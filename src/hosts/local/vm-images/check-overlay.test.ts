import { expect, test } from "vitest";
import { checkOverlay } from "./check-overlay.ts";

const backing = { file: "disk.qcow2", format: "qcow2" } as const;

/** A header of qcow2 version 3 with extensions and the name of the file below. */
function header(name: string, extensions: readonly (readonly [number, string])[] = [[0xe2792aca, "qcow2"]], features = 0n): Buffer {
  const head = Buffer.alloc(4096);
  head.write("QFI\xfb", 0, "latin1");
  head.writeUInt32BE(3, 4);
  head.writeUInt32BE(16, 20);
  head.writeBigUInt64BE(1n << 20n, 24);
  head.writeBigUInt64BE(1024n, 40);
  head.writeBigUInt64BE(2048n, 48);
  head.writeBigUInt64BE(features, 72);
  head.writeUInt32BE(104, 100);
  let at = 104;
  for (const [type, text] of extensions) {
    head.writeUInt32BE(type, at);
    head.writeUInt32BE(text.length, at + 4);
    head.write(text, at + 8, "latin1");
    at += 8 + Math.ceil(text.length / 8) * 8;
  }
  at += 8;
  head.writeBigUInt64BE(BigInt(at), 8);
  head.writeUInt32BE(name.length, 16);
  head.write(name, at, "latin1");
  return head;
}

const check = (head: Buffer) => checkOverlay("disk0.qcow2", head, 1 << 20, backing);

test("an overlay over the disk of its image is accepted, and so is a whole disk", () => {
  expect(() => check(header("/disk.qcow2"))).not.toThrow();
  const whole = header("");
  whole.writeBigUInt64BE(0n, 8);
  expect(() => check(whole)).not.toThrow();
});

test.each<[string, Buffer, string]>([
  ["another file below it", header("/etc/shadow"), '"/etc/shadow"'],
  ["a relative name", header("disk.qcow2"), "not to the disk of its image"],
  ["a description of block drivers", header('json:{"driver":"nbd","host":"10.0.0.1"}'), "not to the disk of its image"],
  ["an address of a network disk", header("nbd://10.0.0.1/x"), "not to the disk of its image"],
  ["another format of its image", header("/disk.qcow2", [[0xe2792aca, "raw"]]), "and the image is qcow2"],
  [
    "data in another file",
    header("/disk.qcow2", [
      [0xe2792aca, "qcow2"],
      [0x44415441, "/etc/shadow"],
    ]),
    "its data is in another file",
  ],
  ["an external data file", header("/disk.qcow2", undefined, 4n), "its data is in another file"],
  ["an unknown extension", header("/disk.qcow2", [[0x12345678, "x"]]), "an extension that is not known"],
  ["a raw disk", Buffer.alloc(512), "not a disk in the format qcow2"],
  ["a header that is cut off", header("/disk.qcow2").subarray(0, 80), "not to the disk of its image"],
])("%s is refused", (_name, head, message) => {
  expect(() => check(head)).toThrow(message);
});
