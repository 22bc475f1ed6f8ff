/** Runs in the browser's own network namespace: forwards the port of its proxy to a Unix socket outside, and starts Chromium with the given arguments. */
import { execFileSync, spawn } from "node:child_process";
import { connect, createServer } from "node:net";

const { LABWRIGHT_TEST_PROXY = "", LABWRIGHT_TEST_CHROMIUM = "", LABWRIGHT_TEST_PROXY_PORT = "" } = process.env;

execFileSync("ip", ["link", "set", "lo", "up"]);
const server = createServer((near) => {
  const far = connect(LABWRIGHT_TEST_PROXY);
  near.pipe(far).pipe(near);
  near.on("error", () => far.destroy());
  far.on("error", () => near.destroy());
  near.once("close", () => far.destroySoon());
  far.once("close", () => near.destroySoon());
});
server.listen(Number(LABWRIGHT_TEST_PROXY_PORT), "127.0.0.1", () => {
  // Playwright controls Chromium over the file descriptors 3 and 4.
  const chromium = spawn(LABWRIGHT_TEST_CHROMIUM, process.argv.slice(2), { stdio: [0, 1, 2, 3, 4] });
  chromium.once("exit", (code) => process.exit(code ?? 1));
});
