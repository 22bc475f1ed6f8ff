/** The lower bound for /health: node:https with the same certificate, headers and body for every request. Prints its URL. */
import { readFile } from "node:fs/promises";
import { createServer, get } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

const [stateDir = "", like = ""] = process.argv.slice(2);
const cert = await readFile(join(stateDir, "server.pem"));
const key = cert;
const model = await new Promise<{ headers: Record<string, string>; body: string }>((resolve, reject) => {
  get(like, { ca: cert, checkServerIdentity: () => undefined }, (response) => {
    let body = "";
    response.on("data", (chunk) => {
      body += chunk;
    });
    response.on("end", () => {
      const headers = Object.entries(response.headers).filter(([name]) => !["date", "connection", "keep-alive"].includes(name));
      resolve({ headers: Object.fromEntries(headers.map(([name, value]) => [name, String(value)])), body });
    });
  }).on("error", reject);
});
const server = createServer({ cert, key }, (_request, response) => {
  response.writeHead(200, model.headers);
  response.end(model.body);
});
server.listen(0, "127.0.0.1", () => console.log(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`));
process.once("SIGTERM", () => process.exit(0));
