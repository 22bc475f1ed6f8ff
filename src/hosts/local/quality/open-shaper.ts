import { exists } from "../files/file-exists.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { ShapingMeans } from "./quality-means.ts";
import { LabNetem } from "./quality-netem.ts";
import { LabShaper, type LinkShaper } from "./quality-shaper.ts";

/**
 * Returns the shaper of a lab's links; `null` if this machine has none.
 * @param adopted an earlier run of the service left the sandbox
 */
export async function openShaper(
  means: ShapingMeans,
  program: string,
  lab: string,
  sandbox: Sandbox,
  adopted: boolean,
): Promise<LinkShaper | null> {
  if (means === null) return null;
  const process = new LabShaper(program, lab, sandbox);
  // A lab with a shaper process keeps it, even if the kernel supports netem by now.
  if (adopted && (await exists(program))) await process.adopt();
  if (means === "shaper" || process.links.size > 0) return process;
  const netem = new LabNetem(sandbox);
  if (adopted) await netem.adopt();
  return netem;
}
