import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { createServer } from "node:net";

/**
 * Holds a state directory for this process: two services on one would each finish the other's jobs. An abstract socket, which the kernel
 * drops with the process however it ends, so that no stale lock is ever left. Throws when another process holds it.
 */
export async function holdStateDir(stateDir: string): Promise<{ release(): Promise<void> }> {
  const name = createHash("sha256")
    .update(await realpath(stateDir))
    .digest("hex");
  const server = createServer((connection) => connection.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(error.code === "EADDRINUSE" ? new Error(`another service runs on the state directory ${stateDir}`) : error);
    });
    server.listen({ path: `\0labwright-state-${name}` }, resolve);
  });
  server.unref();
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}
