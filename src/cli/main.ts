#!/usr/bin/env node
import { homedir } from "node:os";
import { join } from "node:path";

// Checked before the imports, which fail in older versions with unclear errors. The same number is in package.json.
const minVersion = 24;
if (Number(process.versions.node.split(".")[0]) < minVersion) {
  process.stderr.write(`error: labwright needs Node ${minVersion} or newer; this is ${process.versions.node}\n`);
  process.stderr.write("  hint: install it from https://nodejs.org, or use npm: npx -p node@24 -p labwright labwright --help\n");
  process.exit(1);
}
const { enableCompileCache } = await import("node:module");

// Compiled code is cached between calls, so that a command starts in a third of the time. The cache is in the user's own folder: Node's default
// is a shared temporary folder, where other users could place code.
const cache = process.env.XDG_CACHE_HOME;
enableCompileCache(join(cache !== undefined && cache !== "" ? cache : join(homedir(), ".cache"), "labwright"));

// The reader of the output has ended, as in `labwright inspect | head`. A command with a listener of its own, such as a capture, cleans up first.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (process.stdout.listenerCount("error") > 1) return;
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`error: cannot write the output: ${error.message}\n`);
  process.exit(1);
});

const { run } = await import("./run.ts");
process.exitCode = await run(process.argv.slice(2));
