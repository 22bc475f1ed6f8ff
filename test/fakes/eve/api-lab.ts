import { type Envelope, FatalError, fail, html, SlimError, success } from "./answer.ts";
import type { Call } from "./call.ts";
import { inFolder, parentOf } from "./files.ts";
import type { Lab } from "./lab.ts";
import { LabRefused } from "./lab-xml.ts";
import { noticeOfKey, noticeOfVariable, throwNotice } from "./notice.ts";
import { type Body, isset, phpInt, phpString } from "./php.ts";
import { qualityFields } from "./quality.ts";
import { templates } from "./templates.ts";

export async function addLab({ host, user }: Call, p: Body): Promise<Envelope> {
  if (!isset(p.path) || !isset(p.name)) return fail(400, 60017);
  if (!host.files.hasFolder(phpString(p.path))) return fail(400, 60018);
  const path = inFolder(phpString(p.path), `${phpString(p.name)}.unl`);
  if (host.files.read(path) !== undefined) return fail(400, 60016);
  let lab: Lab;
  try {
    lab = await host.openLab(path, user?.tenant ?? 0);
  } catch (error) {
    if (!(error instanceof LabRefused)) throw error;
    const frames = [`${html}includes/api_labs.php(54): Lab->__construct()`, `${html}api.php(824): apiAddLab()`];
    throw new SlimError(error.message, { type: "Exception", file: "includes/__lab.php", line: 64, frames });
  }
  await lab.edit(p);
  return success(200, 60019);
}

export async function cloneLab({ host, user }: Call, p: Body): Promise<Envelope> {
  const source = phpString(p.source);
  const folder = host.files.checkFolder(parentOf(source));
  if (folder === 2) return fail(400, 60009);
  if (folder === 1) return fail(404, 60008);
  const file = host.files.read(source);
  if (file === undefined) return fail(400, 60000);
  const path = inFolder(parentOf(source), `${phpString(p.name)}.unl`);
  host.files.write(path, file.text);
  try {
    const lab = await host.openLab(path, user?.tenant ?? 0);
    const rc = await lab.edit(p);
    await lab.renewId();
    return rc === 0 ? success(200, 60036) : fail(400, rc);
  } catch (error) {
    // The code that should answer uses what it does not have.
    if (error instanceof LabRefused) throw new FatalError();
    throw error;
  }
}

export function showLab(lab: Lab): Envelope {
  const { author, description, body, filename, id, name, version, scripttimeout, lock } = lab;
  return success(200, 60020, { data: { author, description, body, filename, id, name, version, scripttimeout, lock } });
}

export async function editLab(lab: Lab, p: Body): Promise<Envelope> {
  return saved(await lab.edit(p));
}

export async function lockLab(lab: Lab, lock: 0 | 1): Promise<Envelope> {
  return saved(await lab.setLock(lock));
}

function saved(rc: number): Envelope {
  return rc === 0 ? success(200, 60023) : fail(400, rc);
}

export function moveLab({ host }: Call, lab: Lab, p: Body): Envelope {
  const folder = phpString(p.path);
  const there = host.files.checkFolder(folder);
  if (there === 2) return fail(400, 60009);
  if (there === 1) return fail(404, 60008);
  const path = inFolder(folder, lab.filename);
  if (host.files.read(path) !== undefined) return fail(400, 60016);
  host.files.rename(lab.path, path);
  return success(200, 60035);
}

/** Removes the disks of its nodes; the nodes themselves run on. */
export async function deleteLab({ host }: Call, lab: Lab): Promise<Envelope> {
  await host.sleep(host.settings.latency.wipe);
  host.runtime.removeDirectories(lab.id);
  host.files.remove(lab.path);
  return success(200, 60022);
}

export function showTopology({ host, user }: Call, lab: Lab): Envelope {
  if (user !== undefined) user.lab = lab.path;
  const data: object[] = [];
  const more = (source: readonly [number, number], destination?: readonly [number, number]) =>
    host.settings.edition === "pro" ? qualityFields(host, lab, source, destination) : {};
  for (const [id, node] of lab.nodes) {
    for (const [index, joined] of node.ethernets) {
      const network = lab.networks.get(joined.networkId);
      if (network === undefined) continue;
      const source = { type: "ethernet", source: `node${id}`, source_type: "node", source_label: joined.name };
      if (network.count !== 2 || network.isCloud || phpInt(network.visibility) === 1) {
        const destination = { destination: `network${network.id}`, destination_type: "network", destination_label: "" };
        data.push({ ...source, ...destination, ...more([id, index]) });
        continue;
      }
      for (const [farId, far] of lab.nodes) {
        const other = [...far.ethernets].find(([, each]) => each.networkId === network.id);
        // Each link once, from its end with the higher id; a node's link to itself not at all.
        if (other === undefined || id <= farId) continue;
        const destination = { destination: `node${farId}`, destination_type: "node", destination_label: other[1].name };
        data.push({ ...source, ...destination, network_id: network.id, ...more([id, index], [farId, other[0]]) });
      }
    }
    for (const { name, remoteId, remoteIf } of node.serials.values()) {
      if (remoteId === 0 || id <= remoteId) continue;
      data.push({
        type: "serial",
        source: `node${id}`,
        source_type: "node",
        source_label: name,
        destination: `node${remoteId}`,
        destination_type: "node",
        destination_label: lab.nodes.get(remoteId)?.serials.get(remoteIf)?.name ?? "",
        network_id: 0,
      });
    }
  }
  return { code: "200", status: "success", message: "Topology loaded", data };
}

export function listLinks(lab: Lab): Envelope {
  const ethernet = new Map([...lab.networks].map(([id, { name }]) => [id, name]));
  const serial = new Map(
    [...lab.nodes]
      .filter(([, { serials }]) => serials.size > 0)
      .map(([id, node]) => [id, new Map([...node.serials].map(([index, { name }]) => [index, `${node.name} ${name}`]))]),
  );
  const { code, status, message } = success(200, 60024);
  return { data: { ethernet, serial }, code, status, message };
}

export function listConfigs(lab: Lab): Envelope {
  const data = new Map<number, unknown>();
  for (const [id, { template, config, name, icon, configData }] of lab.nodes) {
    if (templates.get(template)?.config) data.set(id, { config, name, icon, len: configData === "" ? 0 : 1 });
  }
  return success(200, 60055, { data });
}

export function showConfig(lab: Lab, id: string): Envelope {
  const node = lab.nodes.get(phpInt(id));
  if (node === undefined || !templates.get(node.template)?.config) return fail(200, 60058);
  return success(200, 60057, { data: { name: node.name, id, data: node.configData } });
}

export async function editConfig({ host }: Call, lab: Lab, id: number, p: Body): Promise<Envelope> {
  const node = lab.nodes.get(id);
  if (node === undefined) return fail(404, 20024);
  if (!isset(p.data)) noticeOfKey(host.settings, "data", "includes/api_configs.php", 89, [`${html}api.php(742): apiEditLabConfig()`]);
  node.configData = phpString(p.data);
  await lab.save();
  return success(201, 60023);
}

export function listTextObjects(lab: Lab): Envelope {
  const data = new Map([...lab.textObjects].map(([id, { name, type }]) => [id, { id, name: name ?? "", type }]));
  return success(200, 60062, { data });
}

export function showTextObject({ host }: Call, lab: Lab, id: string): Envelope {
  const object = lab.textObjects.get(phpInt(id));
  if (object === undefined) {
    // The lab's name is read from a variable that does not exist.
    noticeOfVariable(host.settings, "lab_file", "includes/api_textobjects.php", 136, [`${html}api.php(629): apiGetLabTextObject()`]);
    return { code: 404, status: "fail", message: `Object "${id}" not found on lab "".` };
  }
  const { name, type, data } = object;
  return { code: 200, status: "success", message: "Object loaded", data: { id, name: name ?? "", type, data, newdata: null } };
}

export async function addTextObject({ host }: Call, lab: Lab, p: Body): Promise<Envelope> {
  if (!isset(p.name)) {
    const callers = [`${html}api.php(904): apiAddLabTextObject()`];
    throwNotice(host.settings, "Illegal offset type", { file: "includes/api_textobjects.php", line: 34, callers, phpCode: 2 });
  }
  const { id, status } = await lab.addTextObject(p);
  if (status !== 0) return fail(400, status);
  const { code, status: word, message } = success(201, 60023);
  return { code, result: { id, status }, status: word, message };
}

export async function editTextObject(lab: Lab, id: number, p: Body): Promise<Envelope> {
  const rc = lab.editTextObject(id, p);
  if (rc !== 0) return fail(400, rc);
  await lab.save();
  return success(201, 60023);
}

export async function editTextObjects(lab: Lab, p: Body): Promise<Envelope> {
  for (const each of Object.values(p)) {
    if (typeof each === "object" && each !== null) lab.editTextObject(phpInt((each as Body).id), each as Body);
  }
  await lab.save();
  return success(201, 60023);
}

export async function deleteTextObject(lab: Lab, id: number): Promise<Envelope> {
  lab.textObjects.delete(id);
  await lab.save();
  return success(200, 60023);
}

/** The body, which is Markdown; this knows headings and paragraphs. */
export function showBody(lab: Lab): Envelope {
  const blocks = lab.body.split(/\n{2,}/).filter((block) => block !== "");
  const data = blocks.map((block) => {
    const text = block.replaceAll('"', "&quot;");
    const [, level, title] = /^(#{1,6}) (.*)$/.exec(text) ?? [];
    return level === undefined ? `<p>${text}</p>` : `<h${level.length}>${title}</h${level.length}>`;
  });
  return success(200, 60054, { data: data.join("\n") });
}
