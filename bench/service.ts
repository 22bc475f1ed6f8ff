import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { chmod, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "../src/client/index.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";

/** Starts a service process with its own state and run directories, and with the images and the holder of the set-up. */
export async function startService(host: "embedded" | "memory") {
  const dir = await mkdtemp(join(tmpdir(), "labwright-bench-"));
  await chmod(dir, 0o711); // nodes pass through it to their disks under ids of their own
  const shared = localPaths(process.env, process.getuid?.() ?? 0);
  const password = randomBytes(12).toString("base64url");
  const env = {
    ...process.env,
    LABWRIGHT_IMAGE_DIR: shared.images,
    LABWRIGHT_HOLDER: shared.holder,
    LABWRIGHT_STATE_DIR: join(dir, "state"),
    LABWRIGHT_RUN_DIR: join(dir, "run"),
    LABWRIGHT_ADMIN_PASSWORD: password,
  };
  const logFile = join(dir, "service.log");
  const log = await open(logFile, "w");
  const child = spawn(process.execPath, ["src/server/main.ts", "--host", host, "--port", "0"], {
    env,
    // A file, as with a service manager: reading the log in this process would disturb the measurement.
    stdio: ["ignore", "pipe", log.fd],
  });
  await log.close();
  const { url, fingerprint } = await announced(child, logFile);
  const client = connect({ url, pin: fingerprint, credentials: { username: "admin", password } });
  await client.login({ username: "admin", password });
  // The work of the service after its start is not measured.
  await delay(2_500);
  return {
    url,
    fingerprint,
    client,
    pid: child.pid ?? 0,
    runDir: env.LABWRIGHT_RUN_DIR,
    stateDir: env.LABWRIGHT_STATE_DIR,
    async close() {
      try {
        // Labs outlive their service: a failed measurement would leave its nodes on the machine.
        for (const { lab } of (await client.listLabs({})).labs) await client.destroyProject({ lab });
      } finally {
        child.kill("SIGTERM");
        await Promise.race([new Promise((done) => child.once("exit", done)), delay(10_000)]);
        await rm(dir, { recursive: true, force: true });
      }
    },
  };
}

function announced(child: ChildProcess, logFile: string): Promise<{ url: string; fingerprint: string }> {
  return new Promise((resolve, reject) => {
    let text = "";
    const ended = (code: number | null) =>
      reject(new Error(`the service ended with ${code} before it listened:\n${text}${readFileSync(logFile, "utf8")}`));
    const read = (chunk: Buffer) => {
      text += chunk;
      const url = /https:\/\/[^\s,"]+/.exec(text)?.[0];
      const fingerprint = /sha256[:\s]+([0-9a-f:]{64,95})/i.exec(text)?.[1];
      if (!url || !fingerprint) return;
      child.stdout?.off("data", read).resume();
      child.off("exit", ended);
      resolve({ url, fingerprint });
    };
    child.stdout?.on("data", read);
    child.once("exit", ended);
  });
}
