import { copyFile, readFile } from "node:fs/promises";
import { packagePath } from "../../../files/program-path.ts";
import { command } from "./programs/command.ts";

/** The profile of nodes' processes. Shipped as a source, also beside a compiled package. */
export const nodeProfile = packagePath("src/hosts/local/setup/apparmor/labwright-node");

export interface ApparmorPlaces {
  /** Contains Y where AppArmor is enabled. */
  readonly enabled: string;
  /** The machine loads the profile here at its start. */
  readonly installed: string;
  readonly parser: string;
}

const places: ApparmorPlaces = {
  enabled: "/sys/module/apparmor/parameters/enabled",
  installed: "/etc/apparmor.d/labwright-node",
  parser: "apparmor_parser",
};

/**
 * Loads the nodes' AppArmor profile, now and at each start of the machine. Returns what was done, or why the profile is not loaded: nodes run without it, as
 * they do on machines without AppArmor. undefined: the kernel has no AppArmor, or it is not enabled.
 */
export async function loadProfile({ enabled, installed, parser }: ApparmorPlaces = places): Promise<string | undefined> {
  const text = await readFile(enabled, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "N";
    throw error;
  });
  if (text.trim() !== "Y") return undefined;
  try {
    await command([parser, "--replace", nodeProfile]);
    await copyFile(nodeProfile, installed);
    return `loaded ${installed}`;
  } catch (error) {
    // In a container of another machine, for one, nobody may load profiles.
    return `not loaded (Debian: apt-get install apparmor): ${(error as Error).message}`;
  }
}
