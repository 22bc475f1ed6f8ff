import { type Envelope, success } from "./answer.ts";
import * as labs from "./api-lab.ts";
import { addNetwork, deleteNetwork, editNetwork, editNetworks, listNetworks } from "./api-networks.ts";
import * as nodes from "./api-nodes.ts";
import type { Lab } from "./lab.ts";
import type { LabNode } from "./node.ts";
import { type Body, isset, phpInt, phpString } from "./php.ts";
import { Refused, type Signed } from "./pnetlab-call.ts";
import { type Entered, entered, giveSessions, interfaceOf } from "./pnetlab-session.ts";
import { listNodes, listTextObjects, nodeExtras } from "./pnetlab-views.ts";
import { type Quality, qualities, qualityKey } from "./quality.ts";

const free = new Set(["start", "stop", "wipe", "unlock", "lock", "setquality", "setSuspend", "export"]);

/** POST /api/labs/session/…/…, under the lock of the file: who waits too long for it takes it. A lab that is locked is not changed. */
export async function changeInSession(call: Signed, object: string, action: string): Promise<Envelope | undefined> {
  const { path } = (await entered(call)).lab;
  if (!(await call.host.lock(path))) {
    call.host.unlock(path);
    await call.host.lock(path);
  }
  try {
    const here = await entered(call);
    if (here.lab.lock === 1 && !free.has(action) && object !== "configs") {
      throw new Refused("This lab is locked, Please unlock it first");
    }
    const envelope = await changed(call, here, object, action);
    if (envelope === undefined) return undefined;
    giveSessions(call, here.lab, here.session);
    const all = listNodes(call, here.lab, here.session).data;
    const update: Readonly<Record<string, object>> = {
      networks: { networks: listNetworks(call, here.lab).data, nodes: all },
      interfaces: { nodes: all },
      nodes: { nodes: all },
      textobjects: { textobjects: listTextObjects(here.lab).data },
    };
    return { ...envelope, ...(envelope.status === "success" && { update: update[object] }) };
  } finally {
    call.host.unlock(path);
  }
}

async function changed(call: Signed, here: Entered, object: string, action: string): Promise<Envelope | undefined> {
  const { body, host } = call;
  const { lab, session } = here;
  const id = isset(body.id) ? phpInt(body.id) : undefined;
  switch (`${object}/${action}`) {
    case "lab/lock":
      await lab.setExtra("password", `md5 of ${phpString(body.password)}`);
      return success(200, 60023);
    case "lab/unlock":
      await lab.setExtra("password", "");
      return success(200, 60023);
    case "nodes/start":
    case "nodes/stop":
    case "nodes/wipe":
    case "nodes/export":
      return nodes.runVerb(call, lab, action as nodes.Verb, id);
    case "nodes/add": {
      const { code, status, message } = await nodes.addNodes(call, lab, body);
      const added = [...lab.nodes.values()].at(-1);
      if (added !== undefined) await keepExtras(lab, added, body);
      return { code, status, message };
    }
    case "nodes/edit": {
      if (id === undefined) return nodes.editNodes(lab, (body.data ?? {}) as Body);
      const envelope = await nodes.editNode(lab, id, body);
      const node = lab.nodes.get(id);
      if (node !== undefined) await keepExtras(lab, node, body);
      return envelope;
    }
    case "nodes/delete": {
      if (id === undefined) throw new Refused("Node ID undefined");
      const node = lab.nodes.get(id);
      if (node !== undefined && [2, 3].includes(host.runtime.status(lab, node))) throw new Refused("node_session_running_alert");
      await nodes.deleteNode(call, lab, id);
      session.nodes.delete(id);
      for (const kept of [host.quality, host.suspended]) {
        for (const key of kept.keys()) if (key.startsWith(`${lab.id}/${id}/`)) kept.delete(key);
      }
      return success(201, 60023);
    }
    case "networks/add":
      return addNetwork(lab, body);
    case "networks/edit":
      return id === undefined ? editNetworks(lab, (body.data ?? {}) as Body) : editNetwork(call, lab, id, body);
    case "networks/delete": {
      for (const [node, each] of lab.nodes) {
        for (const [index, { networkId }] of each.ethernets) if (networkId === id) unplug(call, lab, node, index);
      }
      await deleteNetwork(call, lab, String(id));
      return success(200, 60023);
    }
    case "networks/p2p":
      return connectNodes(call, lab, body);
    case "configs/edit":
      return labs.editConfig(call, lab, id ?? 0, body);
    case "interfaces/edit":
      return editInterfaces(call, lab, phpInt(body.node_id), (body.data ?? {}) as Body);
    case "interfaces/setquality": {
      const [node, index] = [phpInt(body.node_id), phpInt(body.interface_id)];
      interfaceOf(lab, node, index);
      const given = qualities.filter((each) => isset(body[each]));
      host.quality.set(qualityKey(lab, node, index), Object.fromEntries(given.map((each) => [each, body[each]])) as unknown as Quality);
      return { code: 200, status: "success", message: "" };
    }
    case "interfaces/setSuspend": {
      const [node, index] = [phpInt(body.node_id), phpInt(body.interface_id)];
      interfaceOf(lab, node, index);
      const key = qualityKey(lab, node, index);
      if (["", "0"].includes(phpString(body.status))) host.suspended.delete(key);
      else host.suspended.add(key);
      return { code: 200, status: "success", message: "" };
    }
    case "textobjects/add":
      return labs.addTextObject(call, lab, body);
    case "textobjects/edit":
      return id === undefined ? labs.editTextObjects(lab, (body.data ?? {}) as Body) : labs.editTextObject(lab, id, body);
    case "textobjects/delete":
      return labs.deleteTextObject(lab, id ?? 0);
  }
  return undefined;
}

async function keepExtras(lab: Lab, node: LabNode, body: Body): Promise<void> {
  const given = nodeExtras.flatMap((name) => (isset(body[name]) ? [[name, phpString(body[name])] as const] : []));
  if (given.length === 0) return;
  const names = new Set(given.map(([name]) => name));
  node.extra = [...node.extra.filter(([name]) => !names.has(name)), ...given];
  await lab.save();
}

/** Removes a link with the quality of its interfaces. */
function unplug({ host }: Signed, lab: Lab, node: number, index: number): void {
  host.quality.delete(qualityKey(lab, node, index));
  host.suspended.delete(qualityKey(lab, node, index));
  lab.nodes.get(node)?.unlink(index);
}

/** Changes links at once, whether or not the node runs. The messages for a removed link and for a serial link differ. */
async function editInterfaces(call: Signed, lab: Lab, node: number, data: Body): Promise<Envelope> {
  const envelope = await nodes.editInterfaces(call, lab, node, data);
  if (envelope.status !== "success") return envelope;
  for (const [index, to] of Object.entries(data)) if (to === "") unplug(call, lab, node, phpInt(index));
  const other = Object.values(data).some((to) => to === "" || phpString(to).includes(":"));
  return other ? { code: 200, status: "success", message: "Reload related device to get effect" } : { ...envelope, code: 200 };
}

/** A hidden bridge between two interfaces, in one call. */
async function connectNodes(call: Signed, lab: Lab, body: Body): Promise<Envelope> {
  const network = lab.freeNetworkId();
  await lab.addNetwork({ visibility: 0, type: "bridge", top: 0, left: 0, name: body.name });
  for (const end of ["src", "dest"]) {
    const [node, index] = [body[`${end}_id`], body[`${end}_if`]];
    if (isset(node) && isset(index)) await nodes.editInterfaces(call, lab, phpInt(node), { [phpString(index)]: network });
  }
  return { code: 200, status: "success", message: "Create connection successfully" };
}
