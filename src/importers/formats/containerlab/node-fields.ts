import type { DraftNode } from "../../draft/draft-node.ts";
import type { Part } from "../../tree/part.ts";
import type { NodeForm } from "./inherited.ts";

const reasons: Readonly<Record<string, string>> = {
  type: "the variant of a vendor's software",
  healthcheck: "a node is ready when the conditions of its ready: have passed",
  "network-mode": "each node has a network of its own",
  "enforce-startup-config": "a node takes over a changed startup-config by itself",
  "suppress-startup-config": "without a startup-config a node starts empty",
  devices: "nodes have no access to devices of the machine",
  "cap-add": "nodes have the rights of their template",
  sysctls: "write them as commands into exec",
  dns: "write a file /etc/resolv.conf",
  certificate: "certificates are not made",
  "cpu-set": "nodes are not bound to processors",
  "startup-delay": "depends-on orders starts",
  runtime: "nodes need no container engine",
};

/** Reads the fields that have a value each. */
export function readFields(node: DraftNode, form: NodeForm): void {
  readExec(node, form);
  readPorts(node, form);
  readSize(node, form);
  for (const [key, part] of form.merged("labels")) readLabel(node, key, part);
  const group = form.one("group");
  if (group?.text !== undefined && group.text.trim() !== "") node.put("labels", "group", group.text, group, "the label group");
  readPrograms(node, form);
  readDaemons(node, form);
  for (const [key, reason] of Object.entries(reasons)) for (const part of form.every(key)) part.dropped(reason);
}

/** A stand-in for a vendor's software takes what its template needs. */
function readSize(node: DraftNode, form: NodeForm): void {
  const [cpu, memory] = [form.one("cpu"), form.one("memory")];
  if (node.choice.isStandIn && node.choice.rule?.role !== "host") {
    for (const part of [cpu, memory])
      part?.dropped(`nodes of template ${node.template} have the processors and memory that the template needs`);
    return;
  }
  if (cpu !== undefined) node.set("cpu", cpu.number !== undefined && cpu.number > 0 && cpu.number <= 1024 ? cpu.number : undefined, cpu);
  if (memory !== undefined) node.set("ram", mebibytes(memory.text ?? ""), memory, `${mebibytes(memory.text ?? "")} MiB`);
}

function readPrograms(node: DraftNode, form: NodeForm): void {
  const isContainer = node.template === "container";
  for (const [key, attribute] of [
    ["cmd", "command"],
    ["entrypoint", "entrypoint"],
    ["user", "user"],
  ] as const) {
    const part = form.one(key);
    if (part?.text === undefined) continue;
    if (isContainer) node.put("attributes", attribute, part.text, part, `the attribute ${attribute}`);
    else part.dropped(`template ${node.template} starts its own programs`);
  }
}

/** Reads the daemons that kind frr starts. */
function readDaemons(node: DraftNode, form: NodeForm): void {
  const part = form
    .every("extras")
    .flatMap((extras) => extras.at("frr", "daemons") ?? [])
    .at(-1);
  if (part === undefined) return;
  if (node.template !== "frr-container") {
    part.dropped(
      node.template === "frr"
        ? "template frr starts the daemons that its configuration uses"
        : `template ${node.template} has no list of daemons`,
    );
    return;
  }
  const words: string[] = [];
  for (const each of part.all) {
    const name = each.text?.trim() ?? "";
    if (daemons.has(name)) words.push(name);
    if (daemons.has(name)) each.mapped("in the attribute daemons");
    else if (always.has(name)) each.mapped("it always runs");
    else each.dropped("template frr-container has no such daemon");
  }
  if (words.length > 0) node.put("attributes", "daemons", words.join(" "));
}

/** Daemons of the attribute of template frr-container. */
const daemons: ReadonlySet<string> = new Set(
  "babeld bfdd bgpd eigrpd fabricd isisd ldpd nhrpd ospf6d ospfd pathd pbrd pim6d pimd ripd ripngd vrrpd".split(" "),
);
const always: ReadonlySet<string> = new Set(["zebra", "staticd", "mgmtd", "watchfrr"]);

/** Commands that cannot fail on interfaces of the lab. All others may fail, as in containerlab, without ending the boot. */
const safe = /^ip (?:addr|address|a) add \S+ dev eth[1-9]\d*$|^ip link set (?:dev )?eth[1-9]\d* up$/;

function readExec(node: DraftNode, form: NodeForm): void {
  for (const part of form.every("exec").flatMap(({ all }) => all)) {
    const command = part.text?.trim() ?? "";
    if (command === "") continue;
    const whole = safe.test(command) || command.endsWith("|| true") ? command : `${command} || true`;
    // Its command line does not answer before it has started.
    const early = node.kind === undefined ? "" : ", and it runs before the software of the node starts";
    const isSame = whole === command && early === "";
    node.add("exec", [whole], part, isSame ? undefined : `as in containerlab, the node boots also if it fails${early}`);
  }
}

function readPorts(node: DraftNode, form: NodeForm): void {
  const parts = form.every("ports").flatMap(({ all }) => all);
  for (const part of parts) {
    const port = /^(?:(\d{1,3}(?:\.\d{1,3}){3}):)?(\d{1,5}):(\d{1,5})(?:\/(tcp|udp|sctp))?$/.exec(part.text?.trim() ?? "");
    const [, address, outer, inner, protocol = "tcp"] = port ?? [];
    if (port === null) part.dropped("only single ports, written PORT:NODE-PORT, are published");
    else if (protocol !== "tcp") part.dropped(`${protocol.toUpperCase()} ports are not published`);
    else if (![outer, inner].every((each) => Number(each) >= 1 && Number(each) <= 65_535)) part.dropped("no port");
    else node.add("ports", [`${address === undefined ? "" : `${address}:`}${outer}:${inner}`], part);
  }
}

function readLabel(node: DraftNode, key: string, part: Part): void {
  if (!/^\S{1,255}$/.test(key) || part.text === undefined || part.text.includes("\0")) part.dropped("no label");
  else node.put("labels", key, part.text, part);
}

const units: Readonly<Record<string, number>> = { "": 1 / (1024 * 1024), b: 1 / (1024 * 1024), k: 1 / 1024, m: 1, g: 1024, t: 1024 * 1024 };

/** Returns MiB of "512MB", "1Gb", "2 gib"; undefined if that is not a size. Units are powers of 1024. */
export function mebibytes(text: string): number | undefined {
  const [, digits, unit = ""] = /^\s*(\d{1,15}(?:\.\d{1,6})?)\s*(?:([bkmgt])i?b?)?\s*$/i.exec(text) ?? [];
  const factor = units[unit.toLowerCase()];
  if (digits === undefined || factor === undefined) return undefined;
  const size = Math.ceil(Number(digits) * factor);
  return size >= 1 && size <= 16 * 1024 * 1024 ? size : undefined;
}
