import type { Command } from "../command/command.ts";
import { imagesPath } from "../service/service-process.ts";

export const image: Command = {
  name: "image",
  summary: "Pull, add, list or remove images of containers and virtual machines of this machine's embedded host",
  operands: "pull REFERENCE|add FILE...|list|remove NAME|prune [FLAG...]",
  details:
    "Images are files of hundreds of megabytes. A user who may write the machine's image directory adds them on the machine itself; the API has no\n" +
    "upload. labwright templates container lists the images of containers for all users, labwright templates vios those of a template of virtual\n" +
    "machines. labwright image --help shows the flags.",
  flags: [],
  raw: true,
  offline: true,
  example: "labwright image pull registry.example/frrouting/frr:10.2",
  run: async (_context, args) => {
    // A separate program, like set-up. It takes over this process and its exit code.
    process.argv = [process.execPath, imagesPath(), ...args.operands];
    await import(imagesPath());
    return process.exitCode === 1 ? 1 : 0;
  },
};
