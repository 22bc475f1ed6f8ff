import type { Command } from "../command/command.ts";
import { setupPath } from "../service/service-process.ts";

export const setup: Command = {
  name: "setup",
  summary: "Make this machine ready to run labs: the lab holder and the nodes' root file systems",
  operands: "[FLAG...]",
  details:
    "Needed once, before the first lab on the embedded host, and after an update of Labwright. It builds the root file systems from Debian\n" +
    "packages, and says which packages of the machine are missing. --fresh takes newer packages; labwright setup --help tells the rest.",
  flags: [],
  raw: true,
  offline: true,
  example: "labwright setup",
  run: async (_context, args) => {
    // Set-up is a program of its own: it takes over this process, exit code and all.
    process.argv = [process.execPath, setupPath(), ...args.operands];
    await import(setupPath());
    return process.exitCode === 1 ? 1 : 0;
  },
};
