import { copyFile, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { command } from "./command.ts";

/** Shipped as sources, also beside a compiled package. */
const profile = fileURLToPath(new URL("../../../../src/hosts/local/setup/apparmor/labwright-node", import.meta.url));
/** The machine loads what is here at its start. */
const installed = "/etc/apparmor.d/labwright-node";

/**
 * Loads the nodes' AppArmor profile now and at each start of the machine. Returns undefined where there is nothing to do: the kernel has no AppArmor, or it is not
 * enabled, or we are not root. Throws Error with the words of apparmor_parser.
 */
export async function loadProfile(): Promise<string | undefined> {
  if (process.getuid?.() !== 0 || !(await isEnabled())) return undefined;
  await copyFile(profile, installed);
  await command(["apparmor_parser", "--replace", installed]);
  return `loaded ${installed}`;
}

async function isEnabled(): Promise<boolean> {
  const text = await readFile("/sys/module/apparmor/parameters/enabled", "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "N";
    throw error;
  });
  return text.trim() === "Y";
}
