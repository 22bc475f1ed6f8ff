import type { Envelope } from "./answer.ts";
import { success } from "./answer.ts";
import { listNetworks } from "./api-networks.ts";
import type { Call } from "./call.ts";
import type { LabSession } from "./host.ts";
import type { Lab } from "./lab.ts";
import type { LabNode } from "./node.ts";
import { phpInt, phpString } from "./php.ts";
import { qualityKey } from "./quality.ts";
import { imagesOf, templateDetail, templates } from "./templates.ts";
import type { User } from "./users.ts";

/** Attributes of a node that EVE-NG does not have. */
export const nodeExtras = [
  "config_script",
  "script_timeout",
  "size",
  "first_nic",
  "username",
  "password",
  "eth_format",
  "console_2nd",
  "map_port",
  "map_port_2nd",
  "keepalive",
  "iol_options",
  "multi_config",
];

/** Of a lab outside of any session every node is stopped. */
export function listNodes(call: Call, lab: Lab, session: LabSession | undefined): Envelope {
  const data = new Map([...lab.nodes].map(([id, node]) => [id, viewNode(call, lab, node, session)]));
  return success(200, 60026, { data });
}

export function viewNode(call: Call, lab: Lab, node: LabNode, session: LabSession | undefined): Readonly<Record<string, unknown>> {
  const { host, serverName, user } = call;
  const number = session?.nodes.get(node.id) ?? null;
  const port = session === undefined ? null : host.runtime.port(lab, node) || 30_000 + (number ?? 0);
  const native = `${node.console === "vnc" ? "vnc" : "telnet"}://${serverName}:${port ?? ""}`;
  const extras = Object.fromEntries(node.extra.filter(([name]) => nodeExtras.includes(name) && name !== "multi_config"));
  const qemu = {
    uuid: node.uuid,
    firstmac: node.firstmac ?? "",
    qemu_options: node.qemuOptions,
    qemu_version: node.qemuVersion,
    qemu_arch: node.qemuArch,
    qemu_nic: node.qemuNic,
  };
  const serials = [...node.serials].map(
    ([id, { name, remoteId, remoteIf }]) => [id, { id, name, style: {}, remote_id: remoteId, remote_if: remoteIf }] as const,
  );
  const ethernets = [...node.ethernets].map(([id, { name, networkId }]) => {
    const key = qualityKey(lab, node.id, id);
    const quality = session === undefined ? {} : (host.quality.get(key) ?? {});
    const suspend = session !== undefined && host.suspended.has(key) ? 1 : 0;
    return [id, { id, name, network_id: networkId, quality, suspend, style: {} }] as const;
  });
  return {
    id: node.id,
    status: session === undefined ? 0 : host.runtime.status(lab, node),
    template: node.template,
    type: node.type,
    url: user?.html5 === 1 ? "guacamole" : native,
    url_2nd: "",
    port,
    session: number,
    config: node.config,
    delay: node.delay,
    icon: node.icon,
    image: node.image,
    left: phpInt(node.left),
    name: node.name,
    top: phpInt(node.top),
    console: node.console,
    ethernet: phpInt(node.ethernet),
    nvram: phpInt(node.nvram),
    ram: phpInt(node.ram),
    serial: node.serial,
    idlepc: node.idlepc,
    cpu: phpInt(node.cpu),
    cpulimit: phpInt(node.cpulimit),
    ...(node.type === "qemu" ? qemu : {}),
    ...extras,
    serials: Object.fromEntries(serials),
    ethernets: Object.fromEntries(ethernets),
  };
}

export function showLab(lab: Lab, session: number | undefined): Envelope {
  const { author, description, body, filename, id, name, version, scripttimeout, lock } = lab;
  const about = { author, description, body, filename, id, name, version, scripttimeout, countdown: 60, lock, password: lock };
  return success(200, 60020, {
    data: { ...about, openable: 2, joinable: 2, editable: 2, session: session ?? null, multi_config_active: "" },
  });
}

export function listTextObjects(lab: Lab): Envelope {
  const data = new Map([...lab.textObjects].map(([id, { name, type, data: html }]) => [id, { id, name: name ?? "", type, data: html }]));
  return success(200, 60062, { data });
}

export function topology(call: Call, lab: Lab, session: LabSession | undefined, number: number | undefined): Envelope {
  const [{ data: networks }, { data: nodes }] = [listNetworks(call, lab), listNodes(call, lab, session)];
  const [{ data: textObjects }, { data: labinfo }] = [listTextObjects(lab), showLab(lab, number)];
  return { ...listNetworks(call, lab), data: { networks, nodes, textObjects, labinfo, lines: [] } };
}

/** The form of a template: other words for the same, and more of them. undefined: there is none. */
export function templateForm({ host }: Call, id: string): Envelope | undefined {
  const template = templates.get(id);
  if (template === undefined) return undefined;
  const detail = templateDetail(template, imagesOf(host.settings.images, template.type, id), ".missing") as {
    readonly options: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  const fields = Object.entries(detail.options).map(([name, { list, value, type }]) => {
    const kind = type === "input" && typeof value === "number" ? "number" : type;
    return [name, { value: value ?? "", ...(kind !== "input" && { type: kind }), ...(list !== undefined && { options: list }), width: 6 }];
  });
  const number = { type: "number", value: "" };
  const more = {
    ...(template.type === "qemu" && {
      first_nic: { type: "list", value: "", options: { "": "Auto", e1000: "e1000" } },
      console_2nd: { type: "list", value: "", options: { "": "Empty", telnet: "Telnet", vnc: "VNC" } },
      map_port: number,
      username: { value: "" },
      password: { value: "", type: "password" },
      eth_name: { show: 0, value: "" },
    }),
    ...(template.type === "iol" && { keepalive: { type: "checkbox", value: 0 } }),
    script_timeout: { type: "number", value: 1200 },
    config_script: { value: template.config ? (template.type === "qemu" ? `config_${id}.py` : "embedded") : "" },
    size: number,
    left: number,
    top: number,
    description: { value: template.description },
  };
  const shown = { type: { value: template.type, show: "0" }, template: { value: id, show: "0" } };
  return { code: 200, status: "success", message: "", data: { options: { ...shown, ...Object.fromEntries(fields), ...more } } };
}

export function userFields(user: User): object {
  const { email, folder, lab, name, tenant, html5, username } = user;
  return { email, folder, lab: lab === null ? null : phpString(lab), name, role: "0", pod: tenant, html5, username, offline: "1" };
}
