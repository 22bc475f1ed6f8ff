import { type Envelope, fail, jsonReply, type Reply, success } from "./answer.ts";
import { addFolder, deleteFolder, listFolder, moveFolder } from "./api-folders.ts";
import * as labs from "./api-lab.ts";
import { addNetwork, deleteNetwork, editNetwork, editNetworks, listNetworks, showNetwork } from "./api-networks.ts";
import * as nodes from "./api-nodes.ts";
import { listNetworkTypes, showTemplates, userFields } from "./api-system.ts";
import type { Call } from "./call.ts";
import type { Lab } from "./lab.ts";
import { LabRefused } from "./lab-xml.ts";
import { type Body, isset, phpInt, phpString } from "./php.ts";
import { type Quality, qualities, qualityKey } from "./quality.ts";
import type { User } from "./users.ts";

/*
 * PNETLab, as its source has it: the same labs, another API. Nothing in a lab works without a lab session, which belongs to the user. It was
 * never run: what its source does not show – bodies of its shop's login, of node states – is made up, and what is not here answers 501.
 */

type Signed = Call & { readonly user: User };

class Refused extends Error {}

export async function routePnetLab(call: Call): Promise<Reply | undefined> {
  const { host, method, path } = call;
  if (method === "GET" && path === "/") return welcome(call);
  if (method === "POST" && path === "/store/public/auth/login/login") return login(call);
  const user = host.users.authorize(call.cookie);
  if (method === "GET" && path === "/api/auth") {
    return reply(user === undefined ? unauthorized(401) : success(200, 90002, { data: { ...userFields(host, user), lab: user.lab } }));
  }
  const handler = handlerOf(call);
  if (handler === undefined) return reply(fail(404, 60038));
  if (user === undefined) return reply(unauthorized(412));
  try {
    const envelope = await handler({ ...call, user });
    return envelope === undefined ? undefined : reply(envelope);
  } catch (error) {
    if (!(error instanceof Refused) && !(error instanceof LabRefused)) throw error;
    return reply({ code: 400, status: "fail", message: error.message, error_code: 0 });
  }
}

/** Its shop's pages set the cookies that its login wants back. */
function welcome({ host }: Call): Reply {
  const cookies = [`_session=${host.settings.uuid()}; path=/; httponly`, `XSRF-TOKEN=${encodeURIComponent(xsrf)}; path=/`];
  return {
    status: 200,
    headers: [...cookies.map((cookie) => ["Set-Cookie", cookie] as const), ["Content-Type", "text/html"]],
    body: "<html></html>",
  };
}
const xsrf = "a/token=";

function login(call: Call): Reply {
  if (call.headers["x-xsrf-token"] !== xsrf) return { status: 419, headers: [["Content-Type", "text/html"]], body: "" };
  const { cookie } = call.host.users.login({ ...call.body, html5: phpString(call.body.html) });
  const headers = cookie === undefined ? [] : [["Set-Cookie", `token=${cookie}; path=/; Max-Age=3600`] as const];
  const body = JSON.stringify({ result: cookie !== undefined, message: cookie === undefined ? "Wrong username or password" : "success" });
  return { status: 200, headers: [...headers, ["Content-Type", "application/json"]], body };
}

function reply(envelope: Envelope): Reply {
  const { headers, ...rest } = jsonReply(envelope, phpInt(envelope.code));
  return { ...rest, headers: headers.filter(([name]) => name !== "X-Powered-By") };
}

function unauthorized(code: number): Envelope {
  return { ...fail(code, 90001), status: "unauthorized" };
}

type Handler = (call: Signed) => Promise<Envelope | undefined> | Envelope | undefined;

function handlerOf({ method, path }: Call): Handler | undefined {
  if (method === "GET" && path === "/api/list/networks") return listNetworkTypes;
  const template = /^\/api\/list\/templates\/(.*)$/.exec(path)?.[1];
  if (method === "GET" && template !== undefined) return (call) => showTemplates(call, template);
  if (method === "GET" && path === "/api/folders") return (call) => listFolder(call, call.query.get("path") ?? "");
  const folder = /^\/api\/folders\/(add|edit|delete)$/.exec(path)?.[1];
  if (method === "POST" && folder !== undefined) return (call) => editFolders(call, folder);
  if (method === "POST" && path === "/api/labs")
    return (call) => (isset(call.body.source) ? labs.cloneLab(call, call.body) : labs.addLab(call, call.body));
  if (method === "DELETE" && path === "/api/labs") return deleteLab;
  const lab = /^\/api\/labs\/(get|edit|move|preview)$/.exec(path)?.[1];
  if (method === "POST" && lab !== undefined) return (call) => withLab(call, lab);
  const factory = /^\/api\/labs\/session\/factory\/(create|join|leave|destroy|stopNodes)$/.exec(path)?.[1];
  if (method === "POST" && factory !== undefined) return (call) => session(call, factory);
  if (method === "POST" && path === "/api/labs/session/nodestatus") return nodeStatus;
  const shown = /^\/api\/labs\/session\/([A-Za-z_]+)$/.exec(path)?.[1];
  if (method === "GET" && shown !== undefined) return (call) => show(call, shown);
  const [, object, action] = /^\/api\/labs\/session\/([A-Za-z_]+)\/([A-Za-z0-9]+)$/.exec(path) ?? [];
  if (method === "POST" && object !== undefined && action !== undefined) return (call) => change(call, object, action);
  return undefined;
}

async function editFolders(call: Signed, action: string): Promise<Envelope> {
  const path = phpString(call.body.path);
  if (action === "add") return addFolder(call);
  if (action === "edit") return moveFolder({ ...call, body: { path: call.body.new_path } }, path);
  return deleteFolder(call, path);
}

async function open({ host, user }: Signed, path: string): Promise<Lab> {
  if (host.files.read(path) === undefined) throw new Refused("Lab File is not founded");
  return host.openLab(path, user.tenant);
}

async function deleteLab(call: Signed): Promise<Envelope> {
  return labs.deleteLab(call, await open(call, phpString(call.body.path)));
}

async function withLab(call: Signed, action: string): Promise<Envelope> {
  const lab = await open(call, phpString(call.body.path));
  if (action === "get") return labs.showLab(lab);
  if (action === "move") return labs.moveLab(call, lab, { path: call.body.new_path });
  if (action === "edit") return labs.editLab(lab, (call.body.data ?? {}) as Body);
  return topology(call, lab);
}

async function session(call: Signed, action: string): Promise<Envelope> {
  const { host, user, body } = call;
  const id = action === "leave" ? phpInt(user.lab) : phpInt(body.lab_session);
  if (action === "create") {
    const lab = await open(call, phpString(body.path));
    const fresh = Math.max(0, ...host.labSessions.keys()) + 1;
    host.labSessions.set(fresh, { path: lab.path, owner: user.username });
    user.lab = String(fresh);
    return { code: 200, message: fresh };
  }
  const found = host.labSessions.get(id);
  if (found === undefined) throw new Refused("NO_LAB_SESSION");
  if (action === "join") user.lab = String(id);
  if (action === "leave") user.lab = null;
  if (action === "stopNodes" || action === "destroy") {
    const lab = await open(call, found.path);
    for (const node of lab.nodes.values()) await host.runtime.stop(lab, node);
    if (action === "destroy") {
      host.runtime.removeDirectories(lab.id);
      host.labSessions.delete(id);
    }
  }
  return { code: 200, message: "success" };
}

function current(call: Signed): Promise<Lab> {
  const found = call.host.labSessions.get(phpInt(call.user.lab));
  if (found === undefined) throw new Refused("NO_LAB_SESSION");
  return open(call, found.path);
}

async function nodeStatus(call: Signed): Promise<Envelope> {
  const lab = await current(call);
  const data = new Map([...lab.nodes].map(([id, node]) => [id, call.host.runtime.status(lab, node)]));
  return { code: 200, status: "success", message: "", data };
}

async function topology(call: Signed, lab: Lab): Promise<Envelope> {
  const [{ data: networks }, { data: all }] = [listNetworks(call, lab), await nodes.listNodes(call, lab)];
  const [{ data: textObjects }, { data: labinfo }] = [labs.listTextObjects(lab), labs.showLab(lab)];
  return { ...listNetworks(call, lab), data: { networks, nodes: all, textObjects, labinfo, lines: [] } };
}

async function show(call: Signed, object: string): Promise<Envelope | undefined> {
  const lab = await current(call);
  const id = call.query.get("id");
  switch (object) {
    case "info":
      return labs.showLab(lab);
    case "topology":
      return topology(call, lab);
    case "html":
      return labs.showBody(lab);
    case "configs":
      return id === null ? labs.listConfigs(lab) : labs.showConfig(lab, id);
    case "networks":
      return id === null ? listNetworks(call, lab) : showNetwork(call, lab, phpInt(id));
    case "textobjects":
      return id === null ? labs.listTextObjects(lab) : labs.showTextObject(lab, id);
    case "links":
      return labs.listLinks(lab);
    case "nodes":
      return id === null ? nodes.listNodes(call, lab) : nodes.showNode(call, lab, phpInt(id));
    case "interfaces":
      return nodes.listInterfaces(lab, phpInt(call.query.get("node_id")));
    case "interface": {
      const [node, index] = [phpInt(call.query.get("node_id")), phpInt(call.query.get("interface_id"))];
      const { name, joined } = interfaceOf(lab, node, index);
      const quality = call.host.qualityOf(lab, node, index) ?? {};
      return {
        code: 200,
        status: "success",
        message: { node_id: String(node), node: name, id: String(index), name: joined.name, quality },
      };
    }
  }
  return undefined;
}

function interfaceOf(lab: Lab, id: number, index: number) {
  const node = lab.nodes.get(id);
  if (node === undefined) throw new Refused("Undefine node");
  const joined = node.ethernets.get(index) ?? node.serials.get(index);
  if (joined === undefined) throw new Refused("Undefine Interface");
  return { name: node.name, joined };
}

/** Under the lock of the file; a lab that is locked is not changed. */
async function change(call: Signed, object: string, action: string): Promise<Envelope | undefined> {
  const { path } = await current(call);
  if (!(await call.host.lock(path))) return fail(400, 60061);
  try {
    const lab = await current(call);
    const free = ["start", "stop", "wipe", "unlock", "lock", "setquality", "setSuspend", "export"].includes(action) || object === "configs";
    if (lab.lock === 1 && !free) throw new Refused("This lab is locked, Please unlock it first");
    const envelope = await changed(call, lab, object, action);
    if (envelope === undefined) return undefined;
    if (object === "networks") {
      return { ...envelope, update: { networks: listNetworks(call, lab).data, nodes: (await nodes.listNodes(call, lab)).data } };
    }
    return object === "interfaces" ? { ...envelope, update: { nodes: (await nodes.listNodes(call, lab)).data } } : envelope;
  } finally {
    call.host.unlock(path);
  }
}

async function changed(call: Signed, lab: Lab, object: string, action: string): Promise<Envelope | undefined> {
  const { body, host } = call;
  const id = isset(body.id) ? phpInt(body.id) : undefined;
  switch (`${object}/${action}`) {
    case "lab/lock":
      return labs.lockLab(lab, 1);
    case "lab/unlock":
      return labs.lockLab(lab, 0);
    case "nodes/start":
    case "nodes/stop":
    case "nodes/wipe":
    case "nodes/export":
      return nodes.runVerb(call, lab, action as nodes.Verb, id);
    case "nodes/add":
      return nodes.addNodes(call, lab, body);
    case "nodes/edit":
      return id === undefined ? nodes.editNodes(lab, (body.data ?? {}) as Body) : nodes.editNode(lab, id, body);
    case "nodes/delete":
      if (id === undefined) throw new Refused("Node ID undefined");
      return nodes.deleteNode(call, lab, id);
    case "networks/add":
      return addNetwork(lab, body);
    case "networks/edit":
      return id === undefined ? editNetworks(lab, (body.data ?? {}) as Body) : editNetwork(call, lab, id, body);
    case "networks/delete":
      return deleteNetwork(call, lab, String(id));
    case "networks/p2p":
      return connectNodes(call, lab, body);
    case "configs/edit":
      return labs.editConfig(call, lab, id ?? 0, body);
    case "interfaces/edit":
      return nodes.editInterfaces(call, lab, phpInt(body.node_id), (body.data ?? {}) as Body);
    case "interfaces/setquality": {
      const [node, index] = [phpInt(body.node_id), phpInt(body.interface_id)];
      interfaceOf(lab, node, index);
      const quality = Object.fromEntries(qualities.map((each) => [each, phpInt(body[each])])) as Quality;
      host.quality.set(qualityKey(lab, node, index), quality);
      return { code: 200, status: "success", message: "" };
    }
    case "interfaces/setSuspend": {
      const { joined } = interfaceOf(lab, phpInt(body.node_id), phpInt(body.interface_id));
      joined.extra = [...joined.extra.filter(([name]) => name !== "source_suspend"), ["source_suspend", phpString(body.status)]];
      await lab.save();
      return { code: 200, status: "success", message: "" };
    }
    case "textobjects/add":
      return labs.addTextObject(lab, body);
    case "textobjects/edit":
      return id === undefined ? labs.editTextObjects(lab, (body.data ?? {}) as Body) : labs.editTextObject(lab, id, body);
    case "textobjects/delete":
      return labs.deleteTextObject(lab, id ?? 0);
  }
  return undefined;
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
