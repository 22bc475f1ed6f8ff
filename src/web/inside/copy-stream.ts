import { type InputOf, LabwrightError } from "../../client/browser.ts";
import { FrameParts, frame, frameTypes } from "../../contract/process-frames.ts";
import type { NodeExecEvent } from "../../contract/schemas/processes.ts";
import { call } from "../service/api.ts";
import { tarFrame } from "./tar.ts";

/** Maximum bytes of a download: the page holds them until they are saved. */
const maxDownload = 2 ** 30;
/** Bytes of one piece of an upload, and those that may wait in the browser. */
const [piece, maxWaiting] = [2 ** 18, 2 ** 21];
/** Maximum characters of messages of the node that an error shows. */
const maxComplaint = 1000;

export interface CopyOptions {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
  readonly signal: AbortSignal;
  /** Called with the bytes that were copied so far. */
  readonly onBytes: (count: number) => void;
}

/** Reads a file or a folder of a node as a tar archive. Throws LabwrightError with the message of the node's tar. */
export async function readFromNode({ lab, node, signal, onBytes }: CopyOptions, path: string): Promise<Blob> {
  const socket = await openCopy({ lab, node, path, direction: "from_node" }, signal);
  const parts: BlobPart[] = [];
  let size = 0;
  const ended = untilEnd(socket, signal, (data) => {
    size += data.length;
    if (size > maxDownload) throw failed("larger than 1 GiB; labwright cp copies it");
    parts.push(data.slice());
    onBytes(size);
  });
  sendControl(socket, { input_end: true });
  await ended;
  return new Blob(parts);
}

/** Writes a file into a folder of a node. Throws LabwrightError with the message of the node's tar. */
export async function writeToNode({ lab, node, signal, onBytes }: CopyOptions, folder: string, file: File): Promise<void> {
  const socket = await openCopy({ lab, node, path: folder, direction: "to_node" }, signal);
  let first = "";
  let ended: Promise<void> = Promise.resolve();
  // The end comes first if the node has no tar, or no such folder.
  await new Promise<void>((resolve, reject) => {
    ended = untilEnd(socket, signal, (data) => {
      first += new TextDecoder().decode(data);
      if (first.includes("\n")) resolve();
    });
    ended.catch(reject);
  });
  if (!first.startsWith("folder\n")) {
    socket.close();
    throw failed(`${folder} is not a folder`);
  }
  const over = { yes: false };
  ended.then(
    () => (over.yes = true),
    () => (over.yes = true),
  );
  const send = async (bytes: Uint8Array<ArrayBuffer>) => {
    while (socket.bufferedAmount > maxWaiting && !over.yes) await new Promise((resolve) => setTimeout(resolve, 20));
    if (!over.yes) socket.send(frame(frameTypes.data, bytes));
  };
  const { before, after } = tarFrame(file.name, file.size, file.lastModified);
  await send(before);
  for (let at = 0; at < file.size && !over.yes; at += piece) {
    await send(new Uint8Array(await file.slice(at, at + piece).arrayBuffer()));
    onBytes(Math.min(file.size, at + piece));
  }
  await send(after);
  if (!over.yes) sendControl(socket, { input_end: true });
  await ended;
}

async function openCopy(input: InputOf<"copyFiles">, signal: AbortSignal): Promise<WebSocket> {
  const { stream } = await call("copyFiles", input, { signal });
  // In a browser an upgrade returns a WebSocket.
  return (await call("streamProcess", { ticket: stream }, { signal })) as unknown as WebSocket;
}

function sendControl(socket: WebSocket, control: object): void {
  socket.send(frame(frameTypes.control, new TextEncoder().encode(JSON.stringify(control))));
}

/** Resolves when the program of the stream ended with 0. Closes the stream. */
async function untilEnd(socket: WebSocket, signal: AbortSignal, onData: (data: Uint8Array) => void): Promise<void> {
  const frames = new FrameParts();
  let complaint = "";
  let end: NodeExecEvent | undefined;
  let reject: (error: unknown) => void = () => {};
  const take = ({ data }: MessageEvent<ArrayBuffer>) => {
    try {
      for (const part of frames.take(new Uint8Array(data))) {
        if (part.type === frameTypes.control) end = JSON.parse(new TextDecoder().decode(part.data)) as NodeExecEvent;
        else if (part.type === frameTypes.data) onData(part.data);
        else if (complaint.length < maxComplaint) complaint += new TextDecoder().decode(part.data);
      }
    } catch (error) {
      reject(error);
    }
  };
  socket.addEventListener("message", take);
  const promise = new Promise<void>((resolve, refuse) => {
    reject = refuse;
    socket.addEventListener("close", () => {
      if (end?.type === "end" && end.exit_code === 0) resolve();
      else refuse(failed(complaint.trim() || end?.error || "the connection of the copy ended"));
    });
  });
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    signal.removeEventListener("abort", abort);
    socket.close();
  }
}

function failed(text: string): LabwrightError {
  return new LabwrightError(text, { status: 502, code: "host_error" });
}
