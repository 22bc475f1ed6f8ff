import { constants } from "node:os";
import type { Duplex } from "node:stream";
import { FrameParts, frameTypes } from "../../contract/process-frames.ts";
import type { NodeStreamControl } from "../../contract/schemas/processes.ts";
import type { NodeProcess } from "../../hosts/host-processes.ts";

/** Passes on the frames of the client, as fast as the program reads. Closes the connection after a malformed one, and if the client ends its side. */
export function takeInput(connection: Duplex, process: Pick<NodeProcess, "write" | "endInput" | "resize" | "signal">): void {
  const frames = new FrameParts();
  const take = (bytes: Buffer): Promise<void> | undefined => {
    let room: Promise<void> | undefined;
    for (const { type, data } of frames.take(bytes)) {
      if (type === frameTypes.control) applyControl(process, JSON.parse(Buffer.from(data).toString("utf8")));
      else if (type === frameTypes.data) room = process.write(data) ?? room;
    }
    return room;
  };
  const close = () => void connection.destroy();
  connection.on("data", (bytes: Buffer) => {
    try {
      const room = take(bytes);
      freeMemory(bytes);
      if (room === undefined) return;
      connection.pause();
      room.then(() => void connection.resume(), close);
    } catch {
      close();
    }
  });
  connection.on("end", close);
}

/** Throws RangeError for a malformed control. Controls of newer clients are ignored. */
function applyControl(process: Parameters<typeof takeInput>[1], control: unknown): void {
  if (typeof control !== "object" || control === null || Array.isArray(control))
    throw new RangeError("a control message must be an object");
  const { input_end, resize, signal } = control as NodeStreamControl;
  if (input_end === true) process.endInput();
  if (resize !== undefined) {
    if (!(Array.isArray(resize) && resize.length === 2 && resize.every(isExtent)))
      throw new RangeError("resize must be [columns, rows], each from 1 to 10000");
    process.resize({ columns: resize[0], rows: resize[1] });
  }
  if (signal !== undefined) {
    if (!Object.hasOwn(constants.signals, signal)) throw new RangeError("signal must be the name of a signal, such as SIGINT");
    process.signal(constants.signals[signal as NodeJS.Signals]);
  }
}

function isExtent(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 10_000;
}

/**
 * Gives the memory of bytes that are not needed any more back at once. The garbage collector would count it as in use, and look for garbage after every 64 MB
 * of a copy. Memory that these bytes may share with others stays.
 */
function freeMemory({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
