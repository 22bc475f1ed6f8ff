import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import type { Trash } from "../files/trash.ts";
import type { LabResources } from "../resources/lab-resources.ts";
import { type Sandbox, switchingNode } from "../sandbox/sandbox.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import type { NodeLimits } from "../templates/node-needs.ts";
import { switchingImage } from "../templates/template.ts";
import { openTun } from "../vm/tun.ts";

/** Ample for hundreds of ports: two daemons need 23 MiB. A storm of frames is bounded by the group's share of the processors. */
const limits: NodeLimits = { ram: 512, processes: 64, disk: 64 };

/** Maximum bytes of all files that are written beside Open vSwitch. */
export const maxSwitchingDisk = limits.disk * 2 ** 20;

/** Returns the directory of the files that are written beside Open vSwitch. @param directory `<state>/labs/<id>` */
export function switchingDisk(directory: string): string {
  return join(directory, "switching");
}

/** Maximum time until both daemons answer, ms. They take a fraction of a second on an idle machine. */
const maxBootMs = 60_000;

/**
 * Starts Open vSwitch in the sandbox, and waits until it answers. Throws host_error.
 * @param directory `<state>/labs/<id>`
 */
export async function startSwitching(
  sandbox: Sandbox,
  directory: string,
  { resources, trash }: { readonly resources: LabResources; readonly trash: Trash },
  catalogue: Catalogue,
): Promise<void> {
  const found = catalogue.images.find(({ name }) => name === switchingImage);
  if (found === undefined)
    throw refused(`VLAN-aware switches need the image ${switchingImage}, which is not on this host: labwright setup builds it`);
  await openTun("VLAN-aware switches cannot run here");
  // Users may run programs there: each start has the image's files.
  await trash.discard(switchingDisk(directory));
  const spawn = {
    id: switchingNode,
    hostname: "switches",
    lower: found.layers,
    disk: switchingDisk(directory),
    files: [],
    env: {},
    boot: ["/usr/lib/labwright/boot-switches"],
    console: ["/bin/sh", "-l"],
    limits: resources.entries(limits),
  };
  await sandbox.spawn([spawn]);
  await sandbox.release([switchingNode]);
  for (const end = performance.now() + maxBootMs; ; ) {
    const state = (await sandbox.info([switchingNode])).nodes.find(({ id }) => id === switchingNode)?.state;
    if (state === "running") return;
    if ((state !== "booting" && state !== "waiting") || performance.now() > end) {
      const output = (await sandbox.tail(switchingNode)).trim().split("\n").slice(-3).join("; ");
      await sandbox.stop([switchingNode], "kill", 0);
      throw refused(`Open vSwitch of the lab's switches did not start (${state ?? "ended"})${output === "" ? "" : `: ${output}`}`);
    }
    await delay(10);
  }
}

function refused(message: string): Failure {
  return new Failure("host_error", message, { data: { host: { message } } });
}
