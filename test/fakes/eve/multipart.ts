export interface FormPart {
  readonly name: string;
  /** Of an upload. */
  readonly filename: string | undefined;
  readonly data: Buffer;
}

/** The parts of a multipart/form-data body; none where it is something else. */
export function readMultipart(body: Buffer, contentType: string): readonly FormPart[] {
  const boundary = /^multipart\/form-data;.*boundary="?([^";]+)"?/i.exec(contentType)?.[1];
  if (boundary === undefined) return [];
  const text = body.toString("latin1");
  return text
    .split(`--${boundary}`)
    .slice(1, -1)
    .flatMap((part) => {
      const end = part.indexOf("\r\n\r\n");
      const head = part.slice(0, end);
      const name = /name="([^"]*)"/i.exec(head)?.[1];
      if (end < 0 || name === undefined) return [];
      const data = Buffer.from(part.slice(end + 4).replace(/\r\n$/, ""), "latin1");
      return [{ name, filename: /filename="([^"]*)"/i.exec(head)?.[1], data }];
    });
}
