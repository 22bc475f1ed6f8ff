import { type Envelope, fail, success } from "./answer.ts";
import { listConfigs, showConfig } from "./api-lab.ts";
import type { Call } from "./call.ts";
import type { Lab } from "./lab.ts";

/*
 * The features of Professional beyond Community, as far as captures and notes of users show them. None was tried on a host; see
 * docs/hosts/eve.md. Numbers and texts of answers that no capture has are those of Community's nearest.
 */

/** 0 graceful, 1 and 3 at once; 2 hibernates. The effect of 2 is not documented: here the node is off. */
export async function stopNode({ host }: Call, lab: Lab, id: number, mode: number): Promise<Envelope> {
  const node = lab.nodes.get(id);
  if (node === undefined) return fail(400, 8);
  if (mode === 0) await host.runtime.stopGracefully(lab, node);
  else await host.runtime.stop(lab, node);
  return success(200, 80051);
}

export async function runningLabs({ host, user }: Call): Promise<Envelope> {
  const paths = [...new Set(host.runtime.running().map(({ lab }) => lab))];
  const data: object[] = [];
  for (const path of paths) {
    if (host.files.read(path) === undefined) continue;
    const lab = await host.openLab(path, user?.tenant ?? 0);
    data.push({ labid: lab.id, labname: lab.name });
  }
  return data.length === 0 ? fail(400, 60071) : success(200, 60026, { data });
}

export async function killLab({ host, user }: Call, id: string): Promise<Envelope> {
  for (const path of host.files.paths()) {
    const lab = await host.openLab(path, user?.tenant ?? 0);
    if (lab.id !== id) continue;
    for (const node of lab.nodes.values()) await host.runtime.stop(lab, node);
    return success(200, 80050);
  }
  return fail(404, 60000);
}

export function poll(): Envelope {
  return success(200, 90002, { data: [] });
}

/** Startup configs are in sets; this has the one that is called default. */
export function readConfigs(lab: Lab, rest: string, set: string): Envelope {
  const id = /^\/configs(?:\/([0-9]+))?$/.exec(rest);
  if (id === null || set !== "default") return fail(400, 60027);
  return id[1] === undefined ? listConfigs(lab) : showConfig(lab, id[1]);
}
