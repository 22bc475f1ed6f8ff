import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { connectManaged, datagramsManaged } from "./management-port.ts";

const frame = (text: string) => Buffer.concat([Buffer.from([text.length, 0]), Buffer.from(text)]);

test("a TCP port answers in both directions, also after one side has ended", async () => {
  await using server = createServer({ allowHalfOpen: true }, async (peer) => {
    let text = "";
    for await (const bytes of peer) text += bytes;
    peer.end(`got ${text}`);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const stream = await connectManaged("127.0.0.1", (server.address() as AddressInfo).port);
  stream.end("hello");
  const parts: Buffer[] = [];
  for await (const bytes of stream) parts.push(bytes);
  expect(Buffer.concat(parts).toString()).toBe("got hello");
});

test("a port on which nothing listens is a host_error with the port and the address", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  await expect(connectManaged("127.0.0.1", port)).rejects.toMatchObject({
    code: "host_error",
    message: expect.stringContaining(`port ${port} of the node's management address 127.0.0.1: connect ECONNREFUSED`),
  });
});

test("datagrams keep their bounds, however their stream is cut, and answers come back as datagrams", async () => {
  const echo = createSocket("udp4").on("message", (data, from) => echo.send(`<${data}>`, from.port, from.address));
  echo.bind(0, "127.0.0.1");
  await once(echo, "listening");
  const stream = await datagramsManaged("127.0.0.1", echo.address().port);
  const bytes = Buffer.concat([frame("one"), frame("three")]);
  stream.write(bytes.subarray(0, 7));
  stream.write(bytes.subarray(7));
  let got = Buffer.alloc(0);
  stream.on("data", (data: Buffer) => {
    got = Buffer.concat([got, data]);
  });
  await expect.poll(() => got.toString("latin1")).toBe(Buffer.concat([frame("<one>"), frame("<three>")]).toString("latin1"));
  stream.destroy();
  echo.close();
});
