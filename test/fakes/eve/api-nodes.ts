import { type Envelope, fail, html, success } from "./answer.ts";
import type { Call } from "./call.ts";
import type { Lab } from "./lab.ts";
import { editNodeCallers, type LabNode } from "./node.ts";
import { noticeOfKey } from "./notice.ts";
import { type Body, isset, phpInt, phpString } from "./php.ts";
import { templates } from "./templates.ts";

export async function addNodes({ host }: Call, lab: Lab, p: Body): Promise<Envelope> {
  const required = { name: 28, left: 34, top: 35 };
  for (const [key, line] of Object.entries(required)) {
    if (!isset(p[key])) noticeOfKey(host.settings, key, "includes/api_nodes.php", line, [`${html}api.php(902): apiAddLabNode()`]);
  }
  const several = isset(p.numberNodes);
  const count = several ? phpInt(p.numberNodes) : 1;
  const name = phpString(p.name);
  const numbered = (p.postfix === true || phpInt(p.postfix) !== 0 || name === "R") && name !== "";
  const ids: number[] = [];
  let [id, rc] = [0, 0];
  for (let index = 0; index < count; index++) {
    id = lab.freeNodeId();
    if (id > 127) {
      rc = 20046;
      break;
    }
    const place = index === 0 ? {} : { left: phpInt(p.left) + (index % 5) * 60, top: phpInt(p.top) + Math.trunc(index / 5) * 80 };
    rc = await lab.addNode({ ...p, ...place, ...(numbered || count > 1 ? { name: `${name}${id}` } : {}) });
    ids.push(id);
  }
  // A failure is reported as a success, with an id that does not exist.
  return success(201, rc === 0 ? 60023 : 20046, { data: { id: several ? ids : id } });
}

export async function editNode(lab: Lab, id: number, p: Body): Promise<Envelope> {
  const node = lab.nodes.get(id);
  if (node === undefined) return fail(400, 20024);
  if (!node.edit(p, editNodeCallers)) return fail(400, 20026);
  return saved(await lab.save());
}

/** Of a list or a map; what fails is passed over. */
export async function editNodes(lab: Lab, p: Body): Promise<Envelope> {
  for (const each of Object.values(p)) {
    if (typeof each !== "object" || each === null) continue;
    const edits = each as Body;
    lab.nodes.get(phpInt(edits.id))?.edit(edits, editNodeCallers);
  }
  return saved(await lab.save());
}

function saved(rc: number): Envelope {
  return rc === 0 ? success(201, 60023) : fail(400, rc);
}

/** Its directory goes first, so that nothing finds the process: it runs on. */
export async function deleteNode({ host }: Call, lab: Lab, id: number): Promise<Envelope> {
  const node = lab.nodes.get(id);
  host.runtime.removeDirectories(lab.id, id);
  if (node !== undefined) await host.runtime.stop(lab, node);
  const rc = await lab.deleteNode(id);
  return rc === 0 ? success(200, 60023) : fail(400, rc);
}

export async function showNode(call: Call, lab: Lab, id: number): Promise<Envelope> {
  const node = lab.nodes.get(id);
  if (node === undefined) return fail(404, 20024);
  await call.host.sleep(call.host.settings.latency.nodeStatus);
  const { console, config, delay, left, icon, image, name, template, type, top } = node;
  const status = call.host.runtime.status(lab, node);
  const data = { console, config, delay, left, icon, image, name, status, template, type, top, url: consoleUrl(call, lab, node) };
  const more: Record<string, unknown> = {};
  if (type === "qemu") {
    const { cpulimit, cpu, ethernet, ram, uuid, firstmac } = node;
    Object.assign(more, { cpulimit, cpu, ethernet, ram, uuid, ...(isset(firstmac) ? { firstmac } : {}) });
    Object.assign(more, {
      qemu_options: node.qemuOptions,
      qemu_version: node.qemuVersion,
      qemu_arch: node.qemuArch,
      qemu_nic: node.qemuNic,
    });
  } else Object.assign(more, typeFields(node));
  return success(200, 60025, { data: { ...data, ...more } });
}

export async function listNodes(call: Call, lab: Lab): Promise<Envelope> {
  const data = new Map<number, unknown>();
  for (const [id, node] of lab.nodes) {
    await call.host.sleep(call.host.settings.latency.nodeStatus);
    const { console, delay, left, icon, image, name, ram, template, type, top, config } = node;
    const status = call.host.runtime.status(lab, node);
    const shown = { console, delay, id, left, icon, image, name, ram, status, template, type, top };
    const more = type === "qemu" ? qemuFields(node) : typeFields(node);
    // ram comes again with those of the type; PHP keeps its place.
    data.set(id, { ...shown, url: consoleUrl(call, lab, node), config_list: [], config, ...more });
  }
  return success(200, 60026, { data });
}

function qemuFields({ cpu, ethernet, uuid, firstmac }: LabNode): object {
  return { cpu, ethernet, uuid, ...(isset(firstmac) ? { firstmac } : {}) };
}

function typeFields(node: LabNode): object {
  const { ethernet, nvram, ram, serial, idlepc, slots } = node;
  switch (node.type) {
    case "iol":
      return { ethernet, nvram, ram, serial };
    case "dynamips":
      return { idlepc, nvram, ram, ...Object.fromEntries([...slots].map(([id, module]) => [`slot${id}`, module])) };
    case "docker":
      return { ethernet, ram };
    case "vpcs":
      return { ethernet };
    default:
      return {};
  }
}

function consoleUrl({ host, serverName, user }: Call, lab: Lab, node: LabNode): string {
  if (node.type === "docker") return `docker://${serverName}:4243/${lab.id}-${node.tenant}-${node.id}?${node.name}`;
  const port = host.runtime.port(lab, node);
  if (user?.html5 === 1) {
    return `/html5/#/client/${Buffer.from(`${port}\0c\0mysql`).toString("base64")}?token=${user.token}`;
  }
  if (node.console === "rdp") return `/rdp/?target=${serverName}&port=${port}`;
  return `${node.console === "vnc" ? "vnc" : "telnet"}://${serverName}:${port}`;
}

export function listInterfaces({ host }: Call, lab: Lab, id: number): Envelope {
  const node = lab.nodes.get(id);
  if (node === undefined) return fail(404, 20024);
  const ethernet = new Map([...node.ethernets].map(([index, { name, networkId }]) => [index, { name, network_id: networkId }]));
  const serial = new Map(
    [...node.serials].map(([index, { name, remoteId, remoteIf, hasRemoteIf }]) => {
      const callers = [`${html}api.php(640): apiGetLabNodeInterfaces()`];
      if (remoteId !== 0 && !hasRemoteIf) noticeOfKey(host.settings, 0, "includes/api_nodes.php", 444, callers);
      const far = remoteId === 0 ? "" : (lab.nodes.get(remoteId)?.serials.get(remoteIf)?.name ?? "");
      return [index, { name, remote_id: remoteId, remote_if: remoteIf, remote_if_name: far }];
    }),
  );
  return success(200, 60030, { data: { id, sort: node.type, ethernet, serial } });
}

export async function editInterfaces({ host }: Call, lab: Lab, id: number, p: Body): Promise<Envelope> {
  const rc = await lab.connectNode(id, p);
  const node = lab.nodes.get(id);
  if (rc === 0 && node !== undefined && host.settings.hotPlug) host.runtime.rewire(lab, node);
  return saved(rc);
}

const verbs = { start: [80049, 80048], stop: [80051, 80050], wipe: [80053, 80052], export: [80058, 80057] } as const;
export type Verb = keyof typeof verbs;

/** Of one node, or of all. */
export async function runVerb({ host }: Call, lab: Lab, verb: Verb, id: number | undefined): Promise<Envelope> {
  const [one, all] = verbs[verb];
  const node = id === undefined ? undefined : lab.nodes.get(id);
  if (id !== undefined && node === undefined) return fail(400, 8);
  const nodes = node === undefined ? [...lab.nodes.values()] : [node];
  let rc = 0;
  if (verb === "start") rc = await (node === undefined ? host.runtime.startAll(lab) : host.runtime.start(lab, node));
  for (const each of nodes) {
    if (verb === "stop") await host.runtime.stop(lab, each);
    if (verb === "wipe") await host.runtime.wipe(lab, each);
    if (verb === "export") {
      const exported = await host.runtime.exportConfig(lab, each, templates.get(each.template)?.config ?? false);
      if (exported.config !== undefined) {
        each.configData = exported.config;
        await lab.save();
      }
      // Of all nodes, those that cannot are passed over.
      if (node !== undefined) rc = exported.rc;
    }
  }
  return rc === 0 ? success(200, node === undefined ? all : one) : fail(400, rc);
}
