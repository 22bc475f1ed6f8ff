import { programPath } from "../../files/program-path.ts";
import type { Command } from "../command/command.ts";
import { commandHelp } from "../command/help.ts";
import { systemdUnit } from "../service/systemd-unit.ts";

export const systemdUnitCommand: Command = {
  name: "systemd-unit",
  summary: "Print a systemd unit that runs the service",
  operands: "[FLAG...]",
  details:
    "The flags are passed to labwright serve. Labs keep running while the unit is stopped or restarted. Variables such as\n" +
    "LABWRIGHT_ADMIN_PASSWORD are set in /etc/default/labwright.",
  flags: [],
  raw: true,
  offline: true,
  example: "labwright systemd-unit --resume always > /etc/systemd/system/labwright.service",
  run: async ({ terminal }, args) => {
    // All other arguments are passed to labwright serve unchecked.
    if (args.operands.includes("--help") || args.operands.includes("-h")) {
      terminal.print(commandHelp(systemdUnitCommand));
      return 0;
    }
    terminal.stdout.write(systemdUnit([process.execPath, programPath("cli/main"), "serve", ...args.operands]));
    return 0;
  },
};
