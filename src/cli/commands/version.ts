import { readFileSync } from "node:fs";
import { packagePath } from "../../files/program-path.ts";
import type { Command } from "../command/command.ts";

export const version: Command = {
  name: "version",
  summary: "Show the version of this program",
  flags: [],
  offline: true,
  example: "labwright version --format json",
  run: async (context) => {
    const { version } = JSON.parse(readFileSync(packagePath("package.json"), "utf8")) as { version: string };
    context.result({ version, node: process.versions.node }, (data) => `labwright ${data.version}`);
    return 0;
  },
};
