import { type Envelope, fail, jsonReply, type Reply, success } from "./answer.ts";
import { addFolder, deleteFolder, listFolder, moveFolder } from "./api-folders.ts";
import * as labs from "./api-lab.ts";
import { listIcons, listNetworkTypes, showTemplates } from "./api-system.ts";
import type { Call } from "./call.ts";
import { exportLabs, importLabs } from "./export-import.ts";
import type { LabSession } from "./host.ts";
import type { Lab } from "./lab.ts";
import { LabRefused } from "./lab-xml.ts";
import { type Body, isset, phpInt, phpString } from "./php.ts";
import { Refused, type Signed } from "./pnetlab-call.ts";
import { changeInSession } from "./pnetlab-changes.ts";
import { login, toLogin, welcome } from "./pnetlab-login.ts";
import { showInSession } from "./pnetlab-session.ts";
import { showLab, templateForm, topology, userFields } from "./pnetlab-views.ts";

/*
 * PNETLab, as its source has it: the same labs, another API. Nothing in a lab works without a lab session, which belongs to the user: every call
 * means the lab that the user entered last, by whatever way. It was never run, and what is not here answers 501.
 */

export async function routePnetLab(call: Call): Promise<Reply | undefined> {
  const { host, method, path } = call;
  if (method === "GET" && path === "/") return toLogin();
  if (method === "GET" && path === "/store/public/auth/login/manager") return welcome(call);
  if (method === "POST" && path === "/store/public/auth/login/login") return login(call);
  if (method === "GET" && path === "/api/icons") return jsonReply(listIcons(), 200);
  if (method === "GET" && path === "/api/auth/logout") {
    host.users.logout(call.cookie);
    return reply(success(200, 90019));
  }
  const user = host.users.authorize(call.cookie);
  if (method === "GET" && path === "/api/auth") {
    return reply(user === undefined ? unauthorized(401) : success(200, 90002, { data: userFields(user) }));
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

function reply(envelope: Envelope): Reply {
  const { headers, ...rest } = jsonReply(envelope, phpInt(envelope.code));
  return { ...rest, headers: headers.filter(([name]) => name !== "X-Powered-By") };
}

function unauthorized(code: number): Envelope {
  return { ...fail(code, 90001), status: "unauthorized" };
}

type Handler = (call: Signed) => Promise<Envelope | undefined> | Envelope | undefined;

function handlerOf({ method, path }: Call): Handler | undefined {
  const exact: Readonly<Record<string, Handler>> = {
    "GET /api/list/networks": listNetworkTypes,
    "GET /api/folders": (call) => listFolder(call, call.query.get("path") ?? ""),
    "POST /api/labs": (call) => (isset(call.body.source) ? labs.cloneLab(call, call.body) : labs.addLab(call, call.body)),
    "DELETE /api/labs": deleteLab,
    "POST /api/nodestatus": everyNode,
    "POST /api/labs/session/nodestatus": nodeStatus,
    "POST /api/export": (call) => exportLabs(call, "pnetlab"),
    "POST /api/import": importAndKeep,
  };
  const handler = exact[`${method} ${path}`];
  if (handler !== undefined) return handler;
  const template = /^\/api\/list\/templates\/(.*)$/.exec(path)?.[1];
  if (method === "GET" && template !== undefined) return (call) => showTemplate(call, template);
  const folder = /^\/api\/folders\/(add|edit|delete)$/.exec(path)?.[1];
  if (method === "POST" && folder !== undefined) return (call) => editFolders(call, folder);
  const lab = /^\/api\/labs\/(get|edit|move|preview)$/.exec(path)?.[1];
  if (method === "POST" && lab !== undefined) return (call) => withLab(call, lab);
  const factory = /^\/api\/labs\/session\/factory\/(create|join|leave|destroy|stopNodes)$/.exec(path)?.[1];
  if (method === "POST" && factory !== undefined) return (call) => session(call, factory);
  const shown = /^\/api\/labs\/session\/([A-Za-z_]+)$/.exec(path)?.[1];
  if (method === "GET" && shown !== undefined) return (call) => showInSession(call, shown);
  const [, object, action] = /^\/api\/labs\/session\/([A-Za-z_]+)\/([A-Za-z0-9]+)$/.exec(path) ?? [];
  if (method === "POST" && object !== undefined && action !== undefined) return (call) => changeInSession(call, object, action);
  return undefined;
}

function showTemplate(call: Signed, id: string): Envelope {
  if (id === "") return showTemplates(call, "");
  const form = templateForm(call, id);
  if (form === undefined) throw new Refused("Can not found template");
  return form;
}

async function editFolders(call: Signed, action: string): Promise<Envelope> {
  const path = phpString(call.body.path);
  if (action === "add") return addFolder(call);
  if (action === "edit") return moveFolder({ ...call, body: { path: call.body.new_path } }, path);
  return deleteFolder(call, path);
}

/** A missing lab is made for any caller. */
function open({ host, user }: Signed, path: string): Promise<Lab> {
  return host.openLab(path, user.tenant);
}

async function deleteLab(call: Signed): Promise<Envelope> {
  const path = phpString(call.body.path);
  if (call.host.files.read(path) === undefined) throw new Refused("Lab File is not founded");
  const lab = await open(call, path);
  if ([...call.host.labSessions.values()].some(({ labId }) => labId === lab.id)) throw new Refused("error_lab_running");
  return labs.deleteLab(call, lab);
}

async function withLab(call: Signed, action: string): Promise<Envelope> {
  const lab = await open(call, phpString(call.body.path));
  if (action === "get") return showLab(lab, undefined);
  if (action === "move") return labs.moveLab(call, lab, { path: call.body.new_path });
  if (action === "edit") return labs.editLab(lab, (call.body.data ?? {}) as Body);
  return topology(call, lab, undefined, undefined);
}

/** As it takes them in, they belong to the user. */
async function importAndKeep(call: Signed): Promise<Envelope> {
  const written: string[] = [];
  const envelope = importLabs(call, written);
  for (const path of written) {
    const lab = await open(call, path);
    for (const right of ["openable", "joinable", "editable"]) {
      await lab.setExtra(right, "2");
      await lab.setExtra(`${right}_emails`, call.user.email);
    }
  }
  return envelope;
}

async function session(call: Signed, action: string): Promise<Envelope> {
  const { host, user, body } = call;
  const done: Envelope = { code: 200, message: "success" };
  if (action === "create") {
    const lab = await open(call, phpString(body.path));
    const known = [...host.labSessions].find(([, each]) => each.labId === lab.id && each.pod === user.tenant)?.[0];
    const number = known ?? Math.max(0, ...host.labSessions.keys()) + 1;
    if (known === undefined) {
      const fresh: LabSession = { path: lab.path, labId: lab.id, owner: user.username, pod: user.tenant, nodes: new Map() };
      host.labSessions.set(number, fresh);
    }
    user.lab = String(number);
    return done;
  }
  const number = action === "leave" ? phpInt(user.lab) : phpInt(body.lab_session);
  const found = host.labSessions.get(number);
  if (found === undefined) throw new Refused("NO_LAB_SESSION");
  if (action === "join") user.lab = String(number);
  if (action === "leave") user.lab = null;
  if (action === "stopNodes" || action === "destroy") {
    const lab = await open(call, found.path);
    for (const node of lab.nodes.values()) await host.runtime.stop(lab, node);
    if (action === "destroy") {
      host.runtime.removeDirectories(lab.id);
      host.labSessions.delete(number);
      for (const kept of [host.quality, host.suspended]) for (const key of kept.keys()) if (key.startsWith(`${lab.id}/`)) kept.delete(key);
      for (const each of host.users.all()) if (each.lab === String(number)) each.lab = null;
    }
  }
  return done;
}

async function nodeStatus(call: Signed): Promise<Envelope> {
  const found = call.host.labSessions.get(phpInt(call.user.lab));
  if (found === undefined) throw new Refused("NO_LAB_SESSION");
  const lab = await open(call, found.path);
  const data = new Map([...found.nodes.keys()].map((id) => [id, statusOf(call, lab, id)]));
  return { code: 200, status: "success", message: "", data };
}

/** The nodes of every session of every user. */
async function everyNode(call: Signed): Promise<Envelope> {
  const data: object[] = [];
  for (const [number, { path, pod, nodes }] of call.host.labSessions) {
    const lab = await call.host.openLab(path, pod);
    for (const [id, each] of nodes) {
      data.push({
        node_session_id: each,
        node_session_nid: id,
        node_session_lab: number,
        node_session_port: 30_000 + each,
        node_session_pod: pod,
        node_session_status: statusOf(call, lab, id),
      });
    }
  }
  return { code: 200, status: "success", message: "", data };
}

function statusOf({ host }: Call, lab: Lab, id: number): number {
  const node = lab.nodes.get(id);
  return node === undefined ? 0 : host.runtime.status(lab, node);
}
