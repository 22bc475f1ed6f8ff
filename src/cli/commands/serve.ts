import type { Command } from "../command/command.ts";
import { servicePath } from "../service/service-process.ts";

export const serve: Command = {
  name: "serve",
  summary: "Run the service in the foreground",
  operands: "[FLAG...]",
  details:
    "labwright serve --help shows the flags. The service prints its address and its certificate's SHA-256 fingerprint, which labwright login asks you to\n" +
    "confirm. The first start creates the user admin. Its password is LABWRIGHT_ADMIN_PASSWORD; without this variable a password is generated and printed\n" +
    "once.",
  flags: [],
  raw: true,
  offline: true,
  example: "labwright serve --port 8443",
  run: async (_context, args) => {
    // The service takes over this process with its signals and its exit code. With a process between it and its supervisor, each
    // signal would arrive twice, and a second signal ends the service at once.
    process.argv = [process.execPath, servicePath(), ...args.operands];
    await import(servicePath());
    return 0;
  },
};
