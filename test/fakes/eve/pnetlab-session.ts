import { type Envelope, success } from "./answer.ts";
import * as labs from "./api-lab.ts";
import { listNetworks, showNetwork } from "./api-networks.ts";
import { listInterfaces } from "./api-nodes.ts";
import type { LabSession } from "./host.ts";
import type { Lab } from "./lab.ts";
import { phpInt } from "./php.ts";
import { Refused, type Signed } from "./pnetlab-call.ts";
import { listNodes, listTextObjects, showLab, topology, viewNode } from "./pnetlab-views.ts";
import { qualityKey } from "./quality.ts";

export interface Entered {
  readonly number: number;
  readonly session: LabSession;
  readonly lab: Lab;
}

/** The lab that the user entered last. Each of its nodes gets a session of its own, the first time. */
export async function entered({ host, user }: Signed): Promise<Entered> {
  const number = phpInt(user.lab);
  const session = host.labSessions.get(number);
  if (session === undefined) throw new Refused("NO_LAB_SESSION");
  const lab = await host.openLab(session.path, user.tenant);
  giveSessions({ host }, lab, session);
  return { number, session, lab };
}

export function giveSessions({ host }: Pick<Signed, "host">, lab: Lab, session: LabSession): void {
  for (const id of lab.nodes.keys()) {
    if (session.nodes.has(id)) continue;
    const used = new Set([...host.labSessions.values()].flatMap(({ nodes }) => [...nodes.values()]));
    let fresh = 1;
    while (used.has(fresh)) fresh++;
    session.nodes.set(id, fresh);
  }
}

export function interfaceOf(lab: Lab, id: number, index: number) {
  const node = lab.nodes.get(id);
  if (node === undefined) throw new Refused("Undefine node");
  const joined = node.ethernets.get(index) ?? node.serials.get(index);
  if (joined === undefined) throw new Refused("Undefine Interface");
  return { name: node.name, joined };
}

/** GET /api/labs/session/… */
export async function showInSession(call: Signed, object: string): Promise<Envelope | undefined> {
  const { lab, session, number } = await entered(call);
  const id = call.query.get("id");
  switch (object) {
    case "info":
      return showLab(lab, number);
    case "topology":
      return topology(call, lab, session, number);
    case "html":
      return labs.showBody(lab);
    case "configs":
      return id === null ? labs.listConfigs(lab) : labs.showConfig(lab, id);
    case "networks":
      return id === null ? listNetworks(call, lab) : showNetwork(call, lab, phpInt(id));
    case "textobjects":
      return id === null ? listTextObjects(lab) : labs.showTextObject(call, lab, id);
    case "links":
      return labs.listLinks(lab);
    case "nodes": {
      if (id === null) return listNodes(call, lab, session);
      const node = lab.nodes.get(phpInt(id));
      if (node === undefined) throw new Refused("Undefine node");
      return success(200, 60025, { data: viewNode(call, lab, node, session) });
    }
    case "interfaces":
      return listInterfaces(call, lab, phpInt(call.query.get("node_id")));
    case "interface": {
      const [node, index] = [phpInt(call.query.get("node_id")), phpInt(call.query.get("interface_id"))];
      const { name, joined } = interfaceOf(lab, node, index);
      const quality = call.host.quality.get(qualityKey(lab, node, index)) ?? {};
      return {
        code: 200,
        status: "success",
        message: { node_id: String(node), node: name, id: String(index), name: joined.name, quality },
      };
    }
  }
  return undefined;
}
