import type { Command } from "../command/command.ts";
import { usersPath } from "../service/service-process.ts";

export const users: Command = {
  name: "users",
  summary: "List, add, change or remove accounts of this machine's embedded host",
  operands: "list|add NAME|passwd NAME|role NAME ROLE|remove NAME [FLAG...]",
  details:
    "Needs write permission for the service's state directory, or --store for the database of services that share their accounts. A running service uses the\n" +
    "change at once. Roles: an admin may do everything, a user has\n" +
    "labs, a viewer only reads. The last admin cannot be removed. Passwords are typed, or come from LABWRIGHT_PASSWORD or --password-stdin.\n" +
    "A new password has at least 8 characters and differs from the name; accounts with a shorter one keep working. remove lists the labs and kept disks\n" +
    "of the account, which are not removed. An account that is added later under the same name owns them: add warns of that.",
  flags: [],
  raw: true,
  offline: true,
  example: "labwright users add ann --role user",
  run: async (_context, args) => {
    // A separate program, like set-up. It takes over this process and its exit code.
    process.argv = [process.execPath, usersPath(), ...args.operands];
    await import(usersPath());
    return process.exitCode === 1 ? 1 : 0;
  },
};
