import type { Readable } from "node:stream";

/** Yields the JSON value of each line (NDJSON). Ends with the stream. Leaving the loop early destroys the stream. */
export async function* jsonLines<T>(stream: Readable): AsyncGenerator<T, void, undefined> {
  let rest = "";
  for await (const chunk of stream.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as T;
  }
  if (rest.trim() !== "") yield JSON.parse(rest) as T;
}
