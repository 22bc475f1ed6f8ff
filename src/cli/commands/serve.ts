import type { Command } from "../command/command.ts";
import { servicePath } from "../service/service-process.ts";

export const serve: Command = {
  name: "serve",
  summary: "Run the service in the foreground",
  operands: "[FLAG...]",
  details:
    "All flags go to the service as they are; labwright serve --help shows them. It prints its address and its certificate's SHA-256\n" +
    "fingerprint, which labwright login asks about. The first start makes the user admin: its password is\n" +
    "LABWRIGHT_ADMIN_PASSWORD, or is made and printed once.",
  flags: [],
  raw: true,
  offline: true,
  example: "labwright serve --port 8443",
  run: async (_context, args) => {
    // The service takes over this process, signals, exit code and all. A process between it and its supervisor would pass each
    // signal on a second time, and the second one does not wait for a clean end.
    process.argv = [process.execPath, servicePath(), ...args.operands];
    await import(servicePath());
    return 0;
  },
};
