import { programPath } from "../../files/program-path.ts";
import type { Command } from "../command/command.ts";
import { commandHelp } from "../command/help.ts";
import { apiUnit } from "../service/api-unit.ts";
import { systemdUnit } from "../service/systemd-unit.ts";

export const systemdUnitCommand: Command = {
  name: "systemd-unit",
  summary: "Print a systemd unit that runs the service",
  operands: "[FLAG...]",
  details:
    "The flags are passed to labwright serve. Labs keep running while the unit is stopped or restarted. Variables such as\n" +
    "LABWRIGHT_ADMIN_PASSWORD are set in /etc/default/labwright. With --host none, the unit is that of a machine of a fleet without labs: it runs as the user\n" +
    "labwright-api, without any privilege, and its variables are in /etc/default/labwright-api.",
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
    const command = [process.execPath, programPath("cli/main"), "serve", ...args.operands];
    terminal.stdout.write(isWithoutLabs(args.operands) ? apiUnit(command) : systemdUnit(command));
    return 0;
  },
};

function isWithoutLabs(flags: readonly string[]): boolean {
  return flags.includes("--host=none") || flags.some((flag, at) => flag === "--host" && flags[at + 1] === "none");
}
