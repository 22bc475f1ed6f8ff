import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { Transport } from "../../../transport/transport.ts";
import { pnetlabLogin } from "./pnetlab-login.ts";

/** A host whose page sets the token, and whose login answers this text. */
async function loginAnswered(text: string): Promise<unknown> {
  const server = createServer((request, response) => {
    const body = request.method === "POST" ? JSON.stringify({ result: false, message: "ERROR", data: { data: text } }) : "{}";
    response.writeHead(200, { "Set-Cookie": "XSRF-TOKEN=a; path=/" }).end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    using transport = new Transport({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, plainHttp: true });
    return await pnetlabLogin(transport, "ann", "ann-password").catch((error: unknown) => error);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test.each([
  ["Password is Wrong", "invalid_credentials"],
  ["Username is not existed", "invalid_credentials"],
  ["Username or Password empty", "invalid_credentials"],
  ["SQLSTATE[HY000] [1045] Access denied for user 'pnetlab'@'localhost' (using password: YES)", "host_error"],
  ["Undefined index: username in Login.php", "host_error"],
  ["Password database is invalid: disk is full", "host_error"],
])("the answer %j of the login has the code %s", async (text, code) => {
  expect(await loginAnswered(text)).toMatchObject({ code });
});

test.each<[string, Record<string, string>, RegExp]>([
  ["a cookie that cannot be decoded", { "Set-Cookie": "XSRF-TOKEN=%E0%A4%A; path=/" }, /malformed cookie XSRF-TOKEN/],
  ["a cookie that no header may carry", { "Set-Cookie": "XSRF-TOKEN=a%0D%0AEvil:%201; path=/" }, /malformed cookie XSRF-TOKEN/],
  ["no cookie", {}, /no page to sign in/],
  ["an address that is none", { Location: "http://[" }, /not a sign-in page/],
  ["another host's address", { Location: "http://other.example/login" }, /other\.example/],
])("%s of the host's is the host's error", async (_name, headers, words) => {
  const server = createServer((_request, response) => response.writeHead("Location" in headers ? 302 : 200, headers).end("{}"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    using transport = new Transport({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, plainHttp: true });
    const failure = await pnetlabLogin(transport, "ann", "ann-password").catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "host_error", message: expect.stringMatching(words) });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
