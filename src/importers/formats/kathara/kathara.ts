import { Draft, type DraftEnd } from "../../draft/draft.ts";
import { DraftNode } from "../../draft/draft-node.ts";
import { chooseTemplate } from "../../mapping/choose-template.ts";
import type { Importer, Reading, ReadOptions } from "../../reading/importer.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import { Part } from "../../tree/part.ts";
import { scalar } from "../../tree/source-tree.ts";
import { readDeviceFiles, routingFolder } from "./device-files.ts";
import { isLabConf, labConfTree } from "./lab-conf.ts";

/** Labs of Kathara and Netkit: lab.conf, and beside it a folder and a .startup file for each device. */
export const kathara: Importer = {
  format: "kathara",
  title: "Kathara lab.conf",
  recognize: (files, path) => {
    const isNamed = /(^|\/)lab\.conf$/.test(path);
    const text = files.text(path) ?? "";
    if (!/^[^\n]*\]\s*=/m.test(text.slice(0, 200_000))) return 0;
    return isLabConf(text) ? (isNamed ? 1 : 0.7) : isNamed && /^\s*\w+\[\d+\]\s*=/m.test(text.slice(0, 200_000)) ? 0.5 : 0;
  },
  read,
};

function read(files: SourceFiles, path: string, options: ReadOptions): Reading {
  const root = Part.of(labConfTree(files.text(path) ?? "", path), path);
  const draft = new Draft();
  const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
  const name = root.get("LAB_NAME");
  draft.setName(name?.text ?? (folder === "" ? "lab" : folder.slice(folder.lastIndexOf("/") + 1)), name);
  draft.setDescription(root.get("LAB_DESCRIPTION")?.text, root.get("LAB_DESCRIPTION"));
  for (const key of ["LAB_VERSION", "LAB_AUTHOR", "LAB_EMAIL", "LAB_WEB"]) root.get(key)?.dropped("labs have a name and a description");
  for (const [key, part] of root.entries) if (key.startsWith("line ")) part.dropped("the line is not DEVICE[ARGUMENT]=VALUE");
  const used: Part[] = [];
  const seen = new Map<string, Part>([[path, root]]);
  const domains = new Map<string, { readonly part: Part; readonly end: DraftEnd }[]>();
  const nodes = new Map<string, DraftNode>();
  for (const [device, part] of root.entries) {
    if (part.node.kind !== "map") continue;
    part.open();
    const image = part.get("image");
    const type = routingFolder(files, path, device) === undefined ? "device" : "frr";
    const node = draft.place(device, chooseTemplate(options, "kathara", type, image?.text), { image });
    if (!(node instanceof DraftNode)) continue;
    nodes.set(device, node);
    readDevice(draft, node, part, domains);
    readDeviceFiles(draft, node, { files, path, device, used, seen });
  }
  readDomains(draft, domains);
  readOrder(files, path, nodes, used, seen);
  for (const other of files.paths) if (!seen.has(other) && isInside(other, folder)) used.push(leftOver(other));
  return { draft, parts: [root, ...used] };
}

function leftOver(path: string): Part {
  return Part.of(scalar(path, 1), path).dropped("no device has this file");
}

function isInside(path: string, folder: string): boolean {
  return folder === "" || path.startsWith(`${folder}/`);
}

type Domains = Map<string, { readonly part: Part; readonly end: DraftEnd }[]>;

function readDevice(draft: Draft, node: DraftNode, device: Part, domains: Domains): void {
  let highest = -1;
  for (const [argument, part] of device.entries) {
    if (!/^\d{1,3}$/.test(argument)) continue;
    highest = Math.max(highest, Number(argument));
    const value = part.all.at(-1)?.text ?? "";
    const [domain = "", mac] = value.split("/");
    if (domain.trim() === "") {
      part.dropped("an interface without a collision domain");
      continue;
    }
    part.mapped(`the interface eth${Number(argument)} in ${domain}${mac === undefined ? "" : "; its MAC address is chosen here"}`);
    const list = domains.get(domain.trim()) ?? [];
    domains.set(domain.trim(), list);
    list.push({ part, end: { at: node, interface: `eth${Number(argument)}` } });
  }
  const bridged = device.get("bridged");
  if (bridged?.boolean === true) {
    bridged.mapped(`the interface eth${highest + 1} in a network of type nat`);
    const network = outside(draft);
    draft.link({ ends: [{ at: node, interface: `eth${highest + 1}` }, { at: network }], part: bridged });
  } else bridged?.dropped("it is the default");
  readSettings(node, device);
}

/** The way out of the lab, which all bridged devices share. */
function outside(draft: Draft) {
  return draft.networks.find(({ type }) => type === "nat") ?? draft.network("internet", "nat");
}

function readSettings(node: DraftNode, device: Part): void {
  const mem = device.get("mem");
  const ram = megabytes(mem?.all.at(-1)?.text);
  if (mem !== undefined) node.set("ram", ram, mem, `ram: ${ram ?? 0} MiB`);
  const cpus = device.get("cpus");
  const cpu = cpus?.all.at(-1)?.number;
  if (cpus !== undefined) node.set("cpu", cpu !== undefined && cpu >= 0.01 && cpu <= 64 ? cpu : undefined, cpus);
  for (const variable of device.get("env")?.all ?? []) {
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(variable.text ?? "") ?? [];
    if (name !== undefined) node.put("env", name, value ?? "", variable);
  }
  const ports = new Set<string>();
  for (const port of device.get("port")?.all ?? []) {
    const [, host, guest, protocol] = /^(?:(\d{1,5}):)?(\d{1,5})(?:\/(tcp|udp))?$/.exec(port.text ?? "") ?? [];
    if (guest === undefined || [host ?? guest, guest].some((each) => Number(each) < 1 || Number(each) > 65_535))
      port.dropped("only ports of TCP and UDP are published");
    else {
      const text = `${host ?? guest}:${guest}${protocol === "udp" ? "/udp" : ""}`;
      node.add("ports", ports.has(text) ? [] : [text], port);
      ports.add(text);
    }
  }
  for (const command of device.get("exec")?.all ?? []) {
    const text = command.text?.trim() ?? "";
    // A command in the background cannot fail.
    const whole = text === "" || /[&;]$/.test(text) ? text : `${text} || true`;
    node.add("exec", whole === "" ? [] : [whole], command, whole === text ? undefined : "as in Kathara, the node boots also if it fails");
  }
  const sysctls = (device.get("sysctl")?.all ?? []).filter(({ text = "" }) => /^net\.[\w.]+=[\w ]+$/.test(text));
  for (const sysctl of sysctls) {
    const [key = "", value = ""] = (sysctl.text ?? "").split("=");
    node.add("exec", [`sysctl -w ${key}="${value}"`], sysctl, "a command");
  }
  for (const key of ["ipv6", "num_terms", "shell", "privileged", "ulimit", "volume"]) device.get(key)?.dropped(reasons[key] ?? "");
}

const reasons: Readonly<Record<string, string>> = {
  ipv6: "nodes have IPv6",
  num_terms: "consoles open when they are needed",
  shell: "labwright shell starts the shell of the node",
  privileged: "nodes have no rights on the machine",
  ulimit: "the limits of the template apply",
  volume: "nodes have no access to the machine's files",
};

function megabytes(text: string | undefined): number | undefined {
  const [, digits, unit = "m"] = /^(\d{1,9})([bkmg]?)$/i.exec(text?.trim() ?? "") ?? [];
  if (digits === undefined) return undefined;
  const factors: Readonly<Record<string, number>> = { b: 2 ** -20, k: 2 ** -10, m: 1, g: 1024, "": 1 };
  const value = Math.ceil(Number(digits) * (factors[unit.toLowerCase()] ?? 1));
  return value >= 1 && value <= 1_048_576 ? value : undefined;
}

/** A collision domain of two interfaces is a link, any other a network. */
function readDomains(draft: Draft, domains: Domains): void {
  for (const [name, members] of domains) {
    const [a, b] = members;
    if (members.length === 2 && a !== undefined && b !== undefined && a.end.at !== b.end.at) {
      draft.link({ ends: [a.end, b.end], part: a.part });
      continue;
    }
    const network = draft.network(name, "bridge");
    for (const { end, part } of members) draft.link({ ends: [end, { at: network }], part });
  }
}

/** lab.dep: "pc1: r1 r2", which start before pc1. */
function readOrder(files: SourceFiles, path: string, nodes: ReadonlyMap<string, DraftNode>, used: Part[], seen: Map<string, Part>): void {
  const found = files.beside(path, "lab.dep");
  if (found === undefined) return;
  const lines = (files.text(found) ?? "")
    .split(/\r?\n/)
    .map((text, index) => scalar(text.trim(), index + 1))
    .filter(({ text }) => text !== "" && !text.startsWith("#"));
  const root = Part.of({ kind: "list", items: lines.slice(0, 10_000), line: 1 }, found);
  used.push(root);
  seen.set(found, root);
  for (const line of root.items) {
    const [, device = "", before = ""] = /^([\w.-]+)\s*:\s*(.*)$/.exec(line.text ?? "") ?? [];
    const node = nodes.get(device);
    const keys = before.split(/[\s,]+/).flatMap((other) => nodes.get(other)?.key ?? []);
    if (node !== undefined && keys.length > 0)
      node.set(
        "depends-on",
        [...new Set(keys)].filter((key) => key !== node.key),
        line,
      );
    else line.dropped("it names no device of the lab");
  }
}
