import { UsageError } from "../command/usage-error.ts";

/** Reads standard input or another stream to its end. Throws UsageError beyond a maximum of bytes. */
export async function readStream(stdin: AsyncIterable<unknown>, maxBytes: number, name = "standard input"): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of stdin as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > maxBytes) throw new UsageError(`${name} has more than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
