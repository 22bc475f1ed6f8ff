/**
 * The lower bound of `labwright cp`: bytes from one Node process to another through TLS with Node's own streams, without a node, files or HTTP.
 * `server CERTIFICATE` prints its port; `down PORT` and `up PORT` are the clients. @see exec.ts
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { connect, createServer } from "node:tls";
import { megabytes } from "./megabytes.ts";

const [role = "", argument = ""] = process.argv.slice(2);
const piece = Buffer.alloc(128 << 10);

async function send(stream: Duplex): Promise<void> {
  for (let left = megabytes * 1e6; left > 0; left -= piece.length) if (!stream.write(piece)) await once(stream, "drain");
  stream.end();
}

async function receive(stream: Duplex): Promise<void> {
  stream.on("data", () => {});
  await once(stream, "end");
}

if (role === "server") {
  const pem = readFileSync(argument);
  const server = createServer({ key: pem, cert: pem }, async (stream) => {
    stream.on("error", () => stream.destroy());
    const [order] = (await once(stream, "data")) as [Buffer];
    if (String(order) === "down") return await send(stream);
    stream.write("ready");
    await receive(stream);
    stream.end();
  });
  server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
} else {
  const stream = connect({ host: "127.0.0.1", port: Number(argument), rejectUnauthorized: false });
  await once(stream, "secureConnect");
  stream.write(role);
  if (role === "up") {
    await once(stream, "data");
    await send(stream);
  }
  await receive(stream);
}
