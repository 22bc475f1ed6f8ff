import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Returns the text that the user types before a command: "labwright", or the npm command if the shell does not find labwright. */
export function programName(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const typed = { labwright: "npm run labwright --", npx: "npx labwright" }[env.npm_lifecycle_event ?? ""];
  return typed === undefined || isOnPath(env.PATH ?? "") ? "labwright" : typed;
}

/** Returns whether the user's shell finds the program. Ignores the folders that npm adds to the path. */
function isOnPath(path: string): boolean {
  return path
    .split(delimiter)
    .filter((folder) => folder !== "" && !/[\\/]node_modules[\\/]\.bin$/.test(folder))
    .some((folder) => isExecutable(join(folder, "labwright")));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns a function that replaces commands in texts by the form that the user can type: "labwright apply" → "npm run labwright -- apply". */
export function commandSpeller(commands: readonly string[], name: string): (text: string) => string {
  if (name === "labwright") return (text) => text;
  const pattern = new RegExp(`(?<![\\w/.-])labwright (?=(?:${commands.join("|")})(?![\\w-]))`, "g");
  return (text) => text.replace(pattern, `${name} `);
}
