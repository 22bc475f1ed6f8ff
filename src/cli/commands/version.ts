import { readFileSync } from "node:fs";
import type { Command } from "../command/command.ts";

export const version: Command = {
  name: "version",
  summary: "Show the version of this program",
  flags: [],
  offline: true,
  example: "labwright version --format json",
  run: async (context) => {
    // The same path from src/cli/commands and from dist/cli/commands.
    const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as { version: string };
    context.result({ version, node: process.versions.node }, (data) => `labwright ${data.version}`);
    return 0;
  },
};
