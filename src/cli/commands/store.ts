import type { Command } from "../command/command.ts";
import { copyStorePath } from "../service/service-process.ts";

export const store: Command = {
  name: "store",
  summary: "Move the service's data to PostgreSQL, or back",
  operands: "copy FROM TO [FLAG...]",
  details:
    "FROM and TO are a file, such as sqlite:/var/lib/labwright/labwright.db, and a database, such as postgres://db.example/labwright. sqlite: alone\n" +
    "is the file in the state directory. The service must be stopped. A target that has data is refused. The copy is compared with the source before it is\n" +
    "kept, and a copy that fails leaves nothing. Labs keep running, users stay signed in, and the source stays as it is. --store-password-file FILE names\n" +
    "the password of the database.",
  flags: [],
  raw: true,
  offline: true,
  example: "labwright store copy sqlite: postgres://labwright@db.example/labwright?sslmode=verify-full",
  run: async (_context, args) => {
    // A separate program, like set-up. It takes over this process and its exit code.
    process.argv = [process.execPath, copyStorePath(), ...args.operands];
    await import(copyStorePath());
    return process.exitCode === 1 ? 1 : 0;
  },
};
