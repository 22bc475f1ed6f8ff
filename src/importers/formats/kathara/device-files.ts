import type { Draft } from "../../draft/draft.ts";
import type { DraftNode } from "../../draft/draft-node.ts";
import { carryConfig } from "../../reading/carry-config.ts";
import { prefixLength } from "../../reading/pc-config.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import { Part } from "../../tree/part.ts";
import { scalar } from "../../tree/source-tree.ts";

export interface DeviceFiles {
  readonly files: SourceFiles;
  /** Path of lab.conf. */
  readonly path: string;
  readonly device: string;
  /** Files that were read, for the report. */
  readonly used: Part[];
  /** By path: everything that was looked at. */
  readonly seen: Map<string, Part>;
}

const routingFolders = ["/etc/frr/", "/etc/quagga/", "/etc/zebra/"];
/** The files of a routing suite with a configuration. Older suites have one for each daemon. */
const routingFile =
  /^\/etc\/(?:frr|quagga|zebra)\/(?:frr|Quagga|zebra|bgpd|ospfd|ospf6d|ripd|ripngd|isisd|pimd|ldpd|staticd|bfdd|eigrpd)\.conf$/i;
const maxFiles = 200;
const maxCharacters = 262_144;

/** Returns the folder with the configuration of a routing suite, if the device has one: then it is a router. */
export function routingFolder(files: SourceFiles, path: string, device: string): string | undefined {
  const folder = folderOf(path, device);
  return routingFolders.find((routing) =>
    files.paths.some((each) => each.startsWith(`${folder}${routing}`) && routingFile.test(each.slice(folder.length))),
  );
}

/** Gives a node the files of its folder and of the folder of all devices, its routing configuration, and the commands of its .startup files. */
export function readDeviceFiles(draft: Draft, node: DraftNode, context: DeviceFiles): void {
  const { files, path, device } = context;
  const configs: { readonly inside: string; readonly text: string; readonly part: Part }[] = [];
  let count = 0;
  for (const name of ["shared", device]) files.want(path, name);
  for (const folder of [folderOf(path, "shared"), folderOf(path, device)]) {
    for (const file of files.paths) {
      if (!file.startsWith(`${folder}/`)) continue;
      const part = partOf(context, file);
      const inside = file.slice(folder.length);
      const text = files.text(file);
      const isOwnFrr = node.template === "frr" && !node.choice.isStandIn;
      if (text === undefined) part.dropped("it is not text; labwright cp copies it");
      else if (isOwnFrr && routingFile.test(inside)) configs.push({ inside, text, part });
      else if (isOwnFrr && /^\/etc\/(frr|quagga|zebra)\/(daemons|vtysh\.conf)$/.test(inside))
        part.dropped("the daemons that the configuration uses start");
      else if (!node.takesFiles) part.dropped(`template ${node.template} has no files`);
      else if (++count > maxFiles || text.length > maxCharacters)
        part.dropped(count > maxFiles ? `more than ${maxFiles} files` : "it is too long; labwright cp copies it");
      else node.put("files", inside, { from: draft.file(`${device}${inside}`, text) }, part, `the file ${inside} of the node`);
    }
  }
  if (configs.length > 0) carryRouting(draft, node, configs);
  readStartup(draft, node, context);
}

function carryRouting(
  draft: Draft,
  node: DraftNode,
  configs: readonly { readonly inside: string; readonly text: string; readonly part: Part }[],
): void {
  const [first] = configs;
  if (first === undefined) return;
  const text = configs.map((each) => withoutPasswords(each.text)).join("!\n");
  carryConfig(draft, node, text, first.part, `configs/${node.key}.conf`);
  for (const { part } of configs) part.mapped(`the startup-config${configs.length > 1 ? ", joined with the other daemons'" : ""}`);
}

/** Telnet passwords, log files and a password of the old daemons: vtysh needs none of them. */
function withoutPasswords(text: string): string {
  const lines = text
    .split(/\r?\n/)
    .filter((line) => !/^\s*(?:password|enable password|log (?:file|stdout)|service integrated-vtysh-config)\b/.test(line));
  return lines.join("\n").replace(/\n*$/, "\n");
}

/** Starts of daemons that the template itself starts. */
const starts =
  /^\s*(?:sudo\s+)?(?:(?:\/etc\/init\.d\/|service\s+|systemctl\s+(?:start|restart|enable)\s+)(?:frr|quagga|zebra)\b.*|\/usr\/lib\/frr\/\S.*)$/;

/** Kathara ignores the exit codes of a startup file. */
const mayFail = "# As in Kathara, the node boots also if a command fails.\ntrap 'exit 0' EXIT\n";

const ifconfigLine =
  /^(\s*)(?:sudo\s+)?(?:\/sbin\/)?ifconfig\s+(eth\d+|lo)(?::\w+)?\s+(\d+\.\d+\.\d+\.\d+)(?:\/(\d{1,2}))?(?:\s+netmask\s+(\d+\.\d+\.\d+\.\d+))?(?:\s+broadcast\s+\S+)?(?:\s+up)?\s*;?\s*(#.*)?$/;

/** Writes the address of an interface with ip: the ifconfig of template linux refuses a length of a prefix. Returns any other line as it is. */
export function ifconfigAsIp(line: string): string {
  const [, indent = "", face, address, given, mask, comment] = ifconfigLine.exec(line) ?? [];
  const length = given ?? (mask === undefined ? undefined : prefixLength(mask));
  if (face === undefined || length === undefined || Number(length) > 32) return line;
  const rest = comment === undefined ? "" : ` ${comment}`;
  return `${indent}ip addr add ${address}/${length} dev ${face}${rest}\n${indent}ip link set ${face} up`;
}

function readStartup(draft: Draft, node: DraftNode, context: DeviceFiles): void {
  const { files, path, device } = context;
  for (const name of ["shared.shutdown", `${device}.shutdown`]) {
    const found = files.beside(path, name);
    if (found !== undefined && !context.seen.has(found)) partOf(context, found).dropped("nothing runs when a node stops");
  }
  const scripts = ["shared.startup", `${device}.startup`].flatMap((name) => files.beside(path, name) ?? []);
  const texts = scripts.map((script) => (files.text(script) ?? "").replace(/\r\n?/g, "\n"));
  const isRouter = node.template === "frr";
  const text = texts
    .map((each) => each.replace(/\n*$/, "\n"))
    .join("")
    .split(/\r?\n/)
    .map((line) => (isRouter && starts.test(line) ? `# ${line.trim()}` : ifconfigAsIp(line)))
    .join("\n");
  const parts = scripts.map((script) => partOf(context, script));
  if (text.trim() === "") {
    for (const part of parts) part.dropped("empty");
    return;
  }
  const script = `${mayFail}${text}`;
  if (node.template === "linux" && !node.choice.isStandIn) {
    node.set("startup-config", draft.file(`${device}.startup`, script));
    for (const part of parts) part.mapped("the startup-config; as in Kathara, the node boots also if a command fails");
  } else if (node.takesFiles) {
    const inside = `/root/${device}.startup`;
    node.put("files", inside, { from: draft.file(`${device}.startup`, script) });
    node.add("exec", [`sh ${inside} || true`]);
    for (const part of parts) part.mapped(`commands at each start: ${inside}; as in Kathara, the node boots also if a command fails`);
  } else for (const part of parts) part.dropped(`template ${node.template} runs no commands`);
}

function folderOf(path: string, name: string): string {
  return path.includes("/") ? `${path.slice(0, path.lastIndexOf("/"))}/${name}` : name;
}

/** Returns a file of the source as a part of the report: the same one for all devices that use it. */
function partOf({ used, seen }: DeviceFiles, path: string): Part {
  const before = seen.get(path);
  if (before !== undefined) return before;
  const part = Part.of(scalar(path, 1), path);
  used.push(part);
  seen.set(path, part);
  return part;
}
