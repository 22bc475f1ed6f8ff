import type { Command } from "../command/command.ts";
import { usersPath } from "../service/service-process.ts";

export const users: Command = {
  name: "users",
  summary: "Accounts of this machine's embedded host: list, add, passwd, role, remove",
  operands: "list|add NAME|passwd NAME|role NAME ROLE|remove NAME [FLAG...]",
  details:
    "For whoever may write the service's state directory; a running service knows at once. Roles: admin does everything, a user has labs of\n" +
    "the own, a viewer looks. The last admin stays. Passwords are typed, or come from LABWRIGHT_PASSWORD or --password-stdin.\n" +
    "A new password has at least 8 characters and is not the name; accounts with a shorter one go on working. remove lists the labs and kept disks\n" +
    "that stay. An account that is added again under the same name owns them: add warns of it.",
  flags: [],
  raw: true,
  offline: true,
  example: "labwright users add ann --role user",
  run: async (_context, args) => {
    // A program of its own, like set-up: it takes over this process, exit code and all.
    process.argv = [process.execPath, usersPath(), ...args.operands];
    await import(usersPath());
    return process.exitCode === 1 ? 1 : 0;
  },
};
