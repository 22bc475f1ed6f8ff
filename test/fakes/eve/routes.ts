import { type Envelope, fail, jsonReply, type Reply, success } from "./answer.ts";
import * as folders from "./api-folders.ts";
import * as labs from "./api-lab.ts";
import * as networks from "./api-networks.ts";
import * as nodes from "./api-nodes.ts";
import * as system from "./api-system.ts";
import type { Call } from "./call.ts";
import { exportLabs, importLabs } from "./export-import.ts";
import type { Lab } from "./lab.ts";
import { LabRefused } from "./lab-xml.ts";
import { noticeOfKey } from "./notice.ts";
import { isset, phpInt, phpString } from "./php.ts";
import * as pro from "./pro.ts";
import { editQuality } from "./quality.ts";
import { noCookie, sessionCookie, type User } from "./users.ts";

/** Answers one call; undefined where the real API has something that this fake has not. */
export async function route(call: Call): Promise<Reply | undefined> {
  const { host, method, path } = call;
  const now = host.settings.clock();
  if (method === "POST" && path === "/api/auth/login") {
    const { envelope, cookie } = host.users.login(call.body);
    return reply(envelope, cookie === undefined ? undefined : sessionCookie(cookie, call.serverName, now));
  }
  if (method === "GET" && path === "/api/auth/logout") {
    host.users.logout(call.cookie);
    return reply(success(200, 90019), noCookie(now));
  }
  if (method === "GET" && path === "/api/icons") return jsonReply(system.listIcons(), 200);
  if (method === "GET" && path === "/api/auth") {
    const user = host.users.authorize(call.cookie);
    return reply(user === undefined ? unauthorized(401) : success(200, 90002, { data: system.userFields(host, user) }));
  }
  const found = handlerOf(call);
  if (found === undefined) return reply(fail(404, 60038));
  const user = host.users.authorize(call.cookie);
  if (user === undefined) return reply(host.settings.sessionLostAs === 60027 ? fail(400, 60027) : unauthorized(412));
  const envelope = await found({ ...call, user });
  return envelope === undefined ? undefined : reply(envelope);
}

function unauthorized(code: number): Envelope {
  return { ...fail(code, 90001), status: "unauthorized" };
}

function reply(envelope: Envelope, cookie?: string): Reply {
  return jsonReply(envelope, phpInt(envelope.code), cookie);
}

type Handler = (call: Call & { readonly user: User }) => Promise<Envelope | undefined> | Envelope | undefined;

function handlerOf({ host, method, path }: Call): Handler | undefined {
  const at = (name: string) => (path.startsWith(`/api/${name}/`) ? path.slice(`/api/${name}`.length) : undefined);
  const isPro = host.settings.edition === "pro";
  const exact: Readonly<Record<string, Handler>> = {
    "GET /api/status": system.showStatus,
    "DELETE /api/status": system.stopEverything,
    "GET /api/list/networks": system.listNetworkTypes,
    "GET /api/list/roles": () => success(200, 60041, { data: { admin: "Administrator" } }),
    "GET /api/users/": system.listUsers,
    "POST /api/folders": folders.addFolder,
    "POST /api/labs": (call) => (isset(call.body.source) ? labs.cloneLab(call, call.body) : labs.addLab(call, call.body)),
    "DELETE /api/labs/close": system.closeLab,
    "POST /api/export": exportLabs,
    "POST /api/import": importLabs,
    ...(isPro ? { "GET /api/runninglabs": pro.runningLabs, "GET /api/poll": pro.poll } : {}),
  };
  const handler = exact[`${method} ${path}`];
  if (handler !== undefined) return handler;
  const template = at("list/templates");
  if (template !== undefined && method === "GET") return (call) => system.showTemplates(call, template.slice(1));
  const folder = at("folders");
  if (folder !== undefined) {
    if (method === "GET") return (call) => folders.listFolder(call, folder);
    if (method === "PUT") return (call) => folders.moveFolder(call, folder);
    if (method === "DELETE") return (call) => folders.deleteFolder(call, folder);
  }
  const lab = at("labs");
  if (lab !== undefined && lab !== "/" && ["GET", "PUT", "POST", "DELETE"].includes(method)) return (call) => inLab(call, lab);
  const killed = at("kill/lab");
  if (isPro && killed !== undefined && method === "GET") return (call) => pro.killLab(call, killed.slice(1));
  const username = at("users");
  if (username !== undefined && method === "GET") return (call) => system.showUser(call, username.slice(1));
  // There on a host, and nothing here: users are made, and pictures kept, by other means.
  if (/^\/api\/(users|cpulimit|uksm|ksm|update|logs)\b/.test(path)) return () => undefined;
  return undefined;
}

const labName = /^\/[A-Za-z0-9_+/\s-]+\.unl/;

/** Routes inside a lab. Checks in EVE-NG's order: the file, the lock, the lab, and only then whether the route exists. */
async function inLab(call: Call, s: string): Promise<Envelope | undefined> {
  const { host, method, user } = call;
  const path = s.replace(/(.+).unl.*$/, "$1.unl");
  const id = s.replace(/.+\/([0-9]+)\/*.*$/, "$1");
  if (host.files.read(path) === undefined) return fail(404, 60000);
  const locks = method === "PUT" || method === "POST";
  if (locks && !(await host.lock(path))) return fail(400, 60061);
  let lab: Lab;
  try {
    lab = await host.openLab(path, user?.tenant ?? 0);
  } catch (error) {
    if (!(error instanceof LabRefused)) throw error;
    return refused(call, path, s, error.message);
  }
  const rest = labName.test(s) ? s.slice(path.length) : " ";
  const handlers = { GET: read, PUT: edit, POST: add, DELETE: remove };
  const envelope = await handlers[method as keyof typeof handlers](call, lab, rest, id);
  // After an exception this line is not reached: the lock stays.
  if (locks) host.unlock(path);
  return envelope;
}

function refused({ host, method }: Call, path: string, s: string, message: string): Envelope {
  if (method === "GET") return { code: 400, status: "fail", message };
  if (method === "DELETE" && s === path) {
    host.files.remove(path);
    return { code: 200, status: "success" };
  }
  const known = /^\d+$/.test(message);
  // A message is looked up by PHP's own words: there is none.
  if (!known) noticeOfKey(host.settings, message, "api.php", host.settings.php === 8 ? 715 : 724, []);
  host.unlock(path);
  return known ? fail(400, phpInt(message)) : { code: 400, status: "fail", message: null };
}

/** The parts of what follows the lab's name: what, id, what of it. */
function parts(rest: string): { readonly what: string; readonly id: string | undefined; readonly of: string } {
  const [, what = "", id, of = ""] = /^\/([A-Za-z]+)(?:\/([0-9]+))?((?:\/.*)?)$/.exec(rest) ?? [];
  return { what, id, of };
}

async function read(call: Call, lab: Lab, rest: string, id: string): Promise<Envelope | undefined> {
  const number = phpInt(id);
  if (rest === "") return labs.showLab(lab);
  switch (rest) {
    case "/html":
      return labs.showBody(lab);
    case "/configs":
      return labs.listConfigs(lab);
    case "/networks":
      return networks.listNetworks(call, lab);
    case "/links":
      return labs.listLinks(lab);
    case "/nodes":
      return nodes.listNodes(call, lab);
    case "/topology":
      return labs.showTopology(call, lab);
    case "/textobjects":
      return labs.listTextObjects(lab);
    case "/pictures":
      return success(200, 60028, { data: [] });
    case "/nodes/start":
      return locked(call, lab, () => nodes.runVerb(call, lab, "start", undefined));
    case "/nodes/stop":
      return call.host.settings.edition === "pro" ? fail(400, 60027) : nodes.runVerb(call, lab, "stop", undefined);
    case "/nodes/wipe":
      return nodes.runVerb(call, lab, "wipe", undefined);
  }
  const { what, id: given, of } = parts(rest);
  if (given === undefined) return what === "pictures" ? undefined : fail(400, 60027);
  switch (`${what}${of}`) {
    case "configs":
      return labs.showConfig(lab, id);
    case "networks":
      return networks.showNetwork(call, lab, number);
    case "nodes":
      return nodes.showNode(call, lab, number);
    case "nodes/interfaces":
      return nodes.listInterfaces(call, lab, number);
    case "nodes/start":
    case "nodes/wipe":
      return nodes.runVerb(call, lab, of.slice(1) as nodes.Verb, number);
    case "nodes/stop":
      return call.host.settings.edition === "pro" ? fail(400, 60027) : nodes.runVerb(call, lab, "stop", number);
    case "textobjects":
      return labs.showTextObject(call, lab, id);
  }
  const mode = /^nodes\/stop\/stopmode=([0-3])$/.exec(`${what}${of}`)?.[1];
  if (mode !== undefined && call.host.settings.edition === "pro") return pro.stopNode(call, lab, phpInt(given), Number(mode));
  return /^pictures/.test(what) ? undefined : fail(400, 60027);
}

async function locked(call: Call, lab: Lab, work: () => Promise<Envelope>): Promise<Envelope> {
  if (!(await call.host.lock(lab.path))) return fail(400, 60061);
  const envelope = await work();
  call.host.unlock(lab.path);
  return envelope;
}

async function edit(call: Call, lab: Lab, rest: string, id: string): Promise<Envelope | undefined> {
  const { body, host } = call;
  const number = phpInt(id);
  switch (rest) {
    case "":
      return labs.editLab(lab, body);
    case "/Lock":
      return labs.lockLab(lab, 1);
    case "/Unlock":
      return labs.lockLab(lab, 0);
    case "/move":
      if (!isset(body.path)) noticeOfKey(host.settings, "path", "api.php", 788, []);
      return labs.moveLab(call, lab, body);
    case "/networks":
      return networks.editNetworks(lab, body);
    case "/nodes":
      return nodes.editNodes(lab, body);
    case "/textobjects":
      return labs.editTextObjects(lab, body);
    case "/nodes/export":
      return nodes.runVerb(call, lab, "export", undefined);
    case "/quality":
      return host.settings.edition === "pro" ? editQuality(host, lab, body) : fail(400, 60027);
  }
  const { what, id: given, of } = parts(rest);
  if (given === undefined) return fail(400, 60027);
  switch (`${what}${of}`) {
    case "networks":
      return networks.editNetwork(call, lab, number, body);
    case "configs":
      return labs.editConfig(call, lab, number, body);
    case "nodes":
      return nodes.editNode(lab, number, body);
    case "nodes/export":
      return nodes.runVerb(call, lab, "export", number);
    case "nodes/interfaces":
      return nodes.editInterfaces(call, lab, number, body);
    case "textobjects":
      return labs.editTextObject(lab, number, body);
    case "pictures":
      return undefined;
  }
  return fail(400, 60027);
}

async function add(call: Call, lab: Lab, rest: string): Promise<Envelope | undefined> {
  switch (rest) {
    case "/networks":
      return networks.addNetwork(lab, call.body);
    case "/nodes":
      return nodes.addNodes(call, lab, call.body);
    case "/textobjects":
      return labs.addTextObject(call, lab, call.body);
    case "/pictures":
      return undefined;
  }
  return call.host.settings.edition === "pro" ? pro.readConfigs(lab, rest, phpString(call.body.cfsid)) : fail(400, 60027);
}

async function remove(call: Call, lab: Lab, rest: string, id: string): Promise<Envelope | undefined> {
  if (rest === "") return labs.deleteLab(call, lab);
  const { what, id: given, of } = parts(rest);
  if (given === undefined || of !== "") return fail(400, 60027);
  switch (what) {
    case "networks":
      return networks.deleteNetwork(call, lab, id);
    case "nodes":
      return nodes.deleteNode(call, lab, phpInt(id));
    case "textobjects":
      return labs.deleteTextObject(lab, phpInt(id));
    case "pictures":
      return undefined;
  }
  return fail(400, 60027);
}
