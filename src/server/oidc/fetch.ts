import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import type { CustomFetch } from "openid-client";

/** A metadata document or a key set has some kilobytes. */
const maxBytes = 1_048_576;
const timeoutMs = 10_000;

/**
 * Returns a fetch for one provider, over HTTPS only, without redirects, and with limits for time and size.
 * @param ca PEM of the authorities that the provider's certificate may be signed by; absent: those of Node
 */
export function providerFetch(ca: string | undefined): CustomFetch {
  return (url, { method, headers, body }) =>
    new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(timeoutMs);
      const options = { method, headers, signal, ...(ca !== undefined && { ca }) };
      const sent = request(url, options, (response) => readBody(response).then(resolve, reject));
      sent.once("error", (error) => reject(signal.aborted ? new Error(`no answer within ${timeoutMs / 1_000} s`) : error));
      sent.end(body === undefined || body === null ? undefined : body instanceof Uint8Array ? body : String(body));
    });
}

async function readBody(response: IncomingMessage): Promise<Response> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBytes) throw new Error(`an answer has more than ${maxBytes} bytes`);
    parts.push(part);
  }
  const headers = new Headers();
  for (let at = 0; at < response.rawHeaders.length; at += 2) headers.append(response.rawHeaders[at]!, response.rawHeaders[at + 1]!);
  const status = response.statusCode ?? 0;
  const hasBody = status !== 204 && status !== 304;
  return new Response(hasBody ? Buffer.concat(parts) : null, { status, headers });
}
