import { type Envelope, FatalError, fail, html, success } from "./answer.ts";
import type { Call } from "./call.ts";
import type { Lab } from "./lab.ts";
import type { Network } from "./network.ts";
import { noticeOfKey } from "./notice.ts";
import { type Body, isset, phpInt, phpString } from "./php.ts";

export function listNetworks({ host }: Call, lab: Lab): Envelope {
  const icons = host.settings.edition !== "ce5";
  const data = new Map(
    [...lab.networks].map(([id, network]) => {
      const { count, left, name, top, type, visibility } = network;
      return [id, { id, count, left, name, top, type, visibility, ...(icons ? { icon: iconOf(network) } : {}) }];
    }),
  );
  return success(200, 60004, { data });
}

export function showNetwork({ host }: Call, lab: Lab, id: number): Envelope {
  const network = lab.networks.get(id);
  if (network === undefined) return fail(404, 20023);
  const { count, left, name, top, type, visibility } = network;
  const icon = host.settings.edition === "ce5" ? {} : { icon: iconOf(network) };
  return success(200, 60005, { data: { count, left, name, top, type, visibility, ...icon } });
}

function iconOf({ icon, type }: Network): string {
  return icon ?? (type === "bridge" ? "lan.png" : "cloud.png");
}

/** A network that is hidden and joined to nothing has an id and is not saved. */
export async function addNetwork(lab: Lab, p: Body): Promise<Envelope> {
  const id = lab.freeNetworkId();
  const numbered = (p.postfix === true || phpInt(p.postfix) !== 0) && isset(p.name);
  const rc = await lab.addNetwork(numbered ? { ...p, name: `${phpString(p.name)}${id}` } : p);
  return rc === 0 ? success(201, 60006, { data: { id } }) : fail(400, rc);
}

export async function editNetwork({ host }: Call, lab: Lab, id: number, p: Body): Promise<Envelope> {
  const network = lab.networks.get(id);
  if (network === undefined) return fail(400, 20023);
  if (!network.edit(p)) {
    // EVE-NG has no message for this: it looks for one under "false".
    noticeOfKey(host.settings, 0, "includes/api_networks.php", 100, [`${html}api.php(737): apiEditLabNetwork()`]);
    return { code: 400, status: "fail", message: null };
  }
  const rc = await lab.save();
  return rc === 0 ? success(201, 60023) : fail(400, rc);
}

export async function editNetworks(lab: Lab, p: Body): Promise<Envelope> {
  for (const each of Object.values(p)) {
    if (typeof each === "object" && each !== null) lab.networks.get(phpInt((each as Body).id))?.edit(each as Body);
  }
  const rc = await lab.save();
  return rc === 0 ? success(201, 60023) : fail(400, rc);
}

/** Without such a network, a visible notice ends the call before the save; if notices are hidden, PHP dies after it. */
export async function deleteNetwork({ host }: Call, lab: Lab, id: string): Promise<Envelope> {
  const network = lab.networks.get(phpInt(id));
  if (network === undefined) {
    noticeOfKey(host.settings, phpInt(id), "includes/api_networks.php", 59, [`${html}api.php(1029): apiDeleteLabNetwork()`]);
  }
  lab.networks.delete(phpInt(id));
  await lab.save();
  if (network === undefined) throw new FatalError();
  const { count, left, name, top, type } = network;
  return success(200, 60023, { data: { id, count, left, name, top, type } });
}
