#!/usr/bin/env node
import { homedir } from "node:os";
import { join } from "node:path";

// Before anything is imported that an older Node does not have, and would tell about in words of its own. Same number as in package.json.
const needed = 24;
if (Number(process.versions.node.split(".")[0]) < needed) {
  process.stderr.write(`error: labwright needs Node ${needed} or newer; this is ${process.versions.node}\n`);
  process.stderr.write("  hint: https://nodejs.org has it, and so has npm: npx -p node@24 -p labwright labwright --help\n");
  process.exit(1);
}
const { enableCompileCache } = await import("node:module");

// Compiled code is kept between calls: a command begins in a third of the time. In the user's own folder, not in the shared
// temporary one that Node would take, because what lies there is run.
const cache = process.env.XDG_CACHE_HOME;
enableCompileCache(join(cache !== undefined && cache !== "" ? cache : join(homedir(), ".cache"), "labwright"));

// Whoever read our output has gone, as in `labwright inspect | head`: nobody is left to tell anything. A command that listens
// itself, as a capture does, has something to put in order first.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (process.stdout.listenerCount("error") > 1) return;
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`error: cannot write the output: ${error.message}\n`);
  process.exit(1);
});

const { run } = await import("./run.ts");
process.exitCode = await run(process.argv.slice(2));
