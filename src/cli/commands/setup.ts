import type { Command } from "../command/command.ts";
import { setupPath } from "../service/service-process.ts";

export const setup: Command = {
  name: "setup",
  summary: "Prepare this machine for labs: compile programs, build the root file systems of nodes",
  operands: "[FLAG...]",
  details:
    "Needed once, before the first lab on the embedded host, and after an update of Labwright. It builds the root file systems from Debian\n" +
    "packages, and reports missing packages of the machine. --fresh installs newer packages; labwright setup --help shows all flags.",
  flags: [],
  raw: true,
  offline: true,
  example: "labwright setup",
  run: async (_context, args) => {
    // Set-up is a separate program. It takes over this process and its exit code.
    process.argv = [process.execPath, setupPath(), ...args.operands];
    await import(setupPath());
    return process.exitCode === 1 ? 1 : 0;
  },
};
