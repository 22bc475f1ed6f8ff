import { request } from "node:http";

export interface RawAnswer {
  /** HTTP/1.1 200 OK */
  readonly statusLine: string;
  readonly status: number;
  /** In order, as they came. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  /** The name or address of the host. */
  readonly host: string;
  readonly cookie?: string | undefined;
  readonly body?: string | Buffer | undefined;
  readonly contentType?: string | undefined;
}

/** One request over a connection of its own, with nothing changed of what comes back. */
export function send(server: { readonly address: string; readonly port: number }, call: RawRequest): Promise<RawAnswer> {
  const { method, path, host, cookie, body, contentType } = call;
  return new Promise((resolve, reject) => {
    const headers: Record<string, string> = { Host: host };
    if (cookie !== undefined) headers.Cookie = cookie;
    if (contentType !== undefined) headers["Content-Type"] = contentType;
    const sent = request({ host: server.address, port: server.port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const { rawHeaders: raw, httpVersion, statusCode: status = 0, statusMessage } = response;
        const names = raw.filter((_, index) => index % 2 === 0);
        resolve({
          statusLine: `HTTP/${httpVersion} ${status} ${statusMessage}`,
          status,
          headers: names.map((name, index) => [name, raw[2 * index + 1] ?? ""] as const),
          body: Buffer.concat(chunks),
        });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export function multipart(path: string, filename: string, data: Uint8Array): { readonly body: Buffer; readonly contentType: string } {
  const boundary = "----------------------------fake";
  const part = (disposition: string, content: Uint8Array) =>
    Buffer.concat([Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`), content, Buffer.from("\r\n")]);
  const body = Buffer.concat([
    part('name="path"', Buffer.from(path)),
    part(`name="file"; filename="${filename}"`, data),
    Buffer.from(`--${boundary}--\r\n`),
  ]);
  return { body, contentType: `multipart/form-data; boundary=${boundary}` };
}
