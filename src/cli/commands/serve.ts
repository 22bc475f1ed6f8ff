import { spawn } from "node:child_process";
import type { Command } from "../command.ts";
import { servicePath } from "../service-process.ts";

export const serve: Command = {
  name: "serve",
  summary: "Run the service in the foreground",
  operands: "[FLAG...]",
  details:
    "All flags go to the service as they are; labwright serve --help shows them. It prints its address and its certificate's SHA-256\n" +
    "fingerprint, which labwright login asks about. The first start needs LABWRIGHT_ADMIN_PASSWORD, the password of the user admin.",
  flags: [],
  raw: true,
  offline: true,
  example: "labwright serve --port 8443",
  run: async (_context, args) => {
    const child = spawn(process.execPath, [...process.execArgv, servicePath(), ...args.operands], { stdio: "inherit" });
    const pass = (signal: NodeJS.Signals) => child.kill(signal);
    // Ctrl-C reaches the child by itself, from the terminal; other senders signal only us.
    for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"] as const) process.on(signal, pass);
    const code = await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (status, signal) => resolve(status ?? (signal === null ? 1 : 0)));
    });
    return code === 0 ? 0 : 1;
  },
};
