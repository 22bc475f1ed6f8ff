#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

// Compiled code is kept between calls: a command begins in a third of the time. In the user's own folder, not in the shared
// temporary one that Node would take, because what lies there is run.
const cache = process.env.XDG_CACHE_HOME;
enableCompileCache(join(cache !== undefined && cache !== "" ? cache : join(homedir(), ".cache"), "labwright"));

// Whoever read our output has gone, as in `labwright inspect | head`: nobody is left to tell anything.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

const { run } = await import("./run.ts");
process.exitCode = await run(process.argv.slice(2));
