import type { Command } from "../command/command.ts";
import { imagesPath } from "../service/service-process.ts";

export const image: Command = {
  name: "image",
  summary: "Container images of this machine's embedded host: add an archive, list, remove",
  operands: "add FILE|list|remove NAME [FLAG...]",
  details:
    "Images are files of this machine, often of hundreds of megabytes: they are added here, on the host, by whoever may write its image\n" +
    "directory, and not over the API. The catalogue (labwright templates container) lists them for everybody. labwright image --help tells the flags.",
  flags: [],
  raw: true,
  offline: true,
  example: "labwright image add alpine.tar --name alpine",
  run: async (_context, args) => {
    // A program of its own, like set-up: it takes over this process, exit code and all.
    process.argv = [process.execPath, imagesPath(), ...args.operands];
    await import(imagesPath());
    return process.exitCode === 1 ? 1 : 0;
  },
};
