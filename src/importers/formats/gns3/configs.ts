import type { Draft } from "../../draft/draft.ts";
import type { DraftNode } from "../../draft/draft-node.ts";
import { carryConfig } from "../../reading/carry-config.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import { ownValue } from "../../tree/own-value.ts";
import { Part } from "../../tree/part.ts";
import { scalar } from "../../tree/source-tree.ts";
import { interfacesCommands } from "./interfaces-file.ts";

interface Context {
  readonly files: SourceFiles;
  readonly path: string;
  readonly used: Part[];
  readonly part: Part;
  readonly kind: string;
  readonly id: string;
}

/** Folders of the nodes' files in a project. */
const folders = (kind: string, id: string) => [`project-files/${kind}/${id}`, `project-files/${kind}/vm-${id}`];

/** Properties with the path of a configuration, or with its text. */
const configKeys = [
  "startup_config_content",
  "startup_script",
  "startup_config",
  "startup_script_path",
  "initial_config",
  "iourc_content",
] as const;

/** At most this many files of a container become files of its node. */
const maxFiles = 200;

/** Reads the configuration of a node from its properties or its folder in the project, and the files of a container. */
export function readConfigs(draft: Draft, node: DraftNode, context: Context): void {
  const { part, kind } = context;
  const properties = part.get("properties");
  for (const key of ["private_config", "private_config_content"])
    properties?.get(key)?.dropped("keys and passwords of a router's private configuration stay behind");
  if (kind === "docker") {
    readContainer(draft, node, context);
    return;
  }
  for (const key of ["config_disk_image", "config_disk_name"]) properties?.get(key)?.dropped("a disk with a configuration is not read");
  let isRead = false;
  for (const key of configKeys) {
    const value = properties?.get(key);
    if (value === undefined) continue;
    const text = value.text ?? "";
    if (isRead || text.trim() === "") value.dropped(isRead ? "the configuration is there already" : "empty");
    else if (text.includes("\n")) {
      carryConfig(draft, node, text, value);
      isRead = true;
    } else {
      const found = fileOf(context, text);
      if (found === undefined) value.dropped("the file of the configuration is not in the source");
      else {
        carryConfig(draft, node, context.files.text(found) ?? "", fileValue(context, found));
        value.mapped(`the configuration, from ${found}`);
        isRead = true;
      }
    }
  }
  if (isRead) return;
  // The project's file names no configuration: it is at its usual place.
  const found =
    kind === "dynamips"
      ? dynamipsConfig(context)
      : (ownValue(usual, kind) ?? []).map((name) => fileOf(context, name)).find((each) => each !== undefined);
  if (found !== undefined) carryConfig(draft, node, context.files.text(found) ?? "", fileValue(context, found));
}

const usual: Readonly<Record<string, readonly string[]>> = { vpcs: ["startup.vpc"], iou: ["startup-config.cfg", "initial-config.cfg"] };

/** Finds the configuration of a router of Dynamips, whose name begins with the number of the router, and reports its private one. */
function dynamipsConfig(context: Context): string | undefined {
  const { files, path, id } = context;
  const number = context.part.at("properties", "dynamips_id");
  for (const folder of folders("dynamips", id)) files.want(path, `${folder}/configs`);
  const prefix = prefixOf(path);
  const below = filesBelow(files, prefix);
  const inside = folders("dynamips", id).flatMap((folder) => below.get(folder) ?? []);
  for (const each of inside)
    if (/\/i\d+_private-config\.cfg$/.test(each))
      fileValue(context, each).dropped("keys and passwords of a router's private configuration stay behind");
  const named = number?.text === undefined ? undefined : fileOf(context, `i${number.text}_startup-config.cfg`);
  if (named !== undefined) number?.mapped("the name of its configuration");
  // A copied project may have another number than its files.
  const others = inside.filter((each) => /\/i\d+_startup-config\.cfg$/.test(each) && files.text(each) !== undefined);
  return named ?? (others.length === 1 ? others[0] : undefined);
}

/** Finds a file that a property names: in the node's folder, in its configs folder, or in the project. */
function fileOf({ files, path, kind, id }: Context, name: string): string | undefined {
  const own = folders(kind, id).flatMap((folder) => [`${folder}/${name}`, `${folder}/configs/${name}`]);
  const shared = [`project-files/${kind}/${name}`, `project-files/${kind}/configs/${name}`, name];
  return [...own, ...shared].map((each) => files.beside(path, each)).find((each) => each !== undefined && files.text(each) !== undefined);
}

/** Returns the content of a file of the source as a part, so that the report has a line for it. */
function fileValue({ used }: Context, path: string): Part {
  const part = Part.of(scalar(path, 1), path);
  used.push(part);
  return part;
}

function readContainer(draft: Draft, node: DraftNode, context: Context): void {
  const properties = context.part.get("properties");
  const environment = properties?.get("environment");
  const variables = (environment?.text ?? "").split(/\r?\n/).flatMap((line) => {
    const [, name, value] = /^\s*([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line) ?? [];
    return name === undefined ? [] : [[name, (value ?? "").trim()] as const];
  });
  if (variables.length > 0) node.set("env", Object.fromEntries(variables), environment);
  const command = properties?.get("start_command");
  const inner = filesBelow(context.files, prefixOf(context.path));
  const folder = folders(context.kind, context.id).find((each) => inner.has(each));
  const insideOf = (path: string) => path.slice(prefixOf(context.path).length + (folder?.length ?? 0));
  const named = ["linux", "frr"].includes(node.template) ? bootScript.exec(command?.text?.trim() ?? "")?.[1] : undefined;
  const script = (inner.get(folder ?? "") ?? []).map(insideOf).find((inside) => inside === named);
  if ((command?.text ?? "").trim() !== "") {
    if (node.template === "container") node.put("attributes", "command", command?.text, command);
    else if (script !== undefined) command?.mapped(`its script ${script} runs at the boot`);
    else command?.dropped(`template ${node.template} starts its own programs`);
  }
  properties?.get("extra_volumes")?.mapped("the files in them");
  for (const key of ["container_id", "console_resolution", "console_http_port", "console_http_path", "extra_hosts"])
    properties?.get(key)?.dropped("belongs to the server that ran it");
  for (const folder of folders(context.kind, context.id)) context.files.want(context.path, folder);
  for (const [count, path] of (inner.get(folder ?? "") ?? []).entries()) {
    const inside = insideOf(path);
    const isCommands = inside === script && readScript(node, context, path);
    if (!isCommands) readFile(draft, node, context, { path, inside, count });
    if (inside === script && !isCommands) node.add("exec", [`sh ${inside}`]);
  }
}

/** A command that runs a script and then the program of the node. */
const bootScript = /^(?:\/bin\/)?sh -c (?:'|")(?:\/bin\/)?sh (\/[\w./-]{1,200}); exec [\w ./-]{1,200}(?:'|")$/;

/** A line of a script that is a command by itself: no part of a longer one, and nothing that later lines need, such as variables. */
const plainCommand =
  /^(?!(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|cd|set|exec|exit|export)\b)[\w./](?:[\w./:@%+=,&|;> *-]|"[\w./:@%+=, -]*"|'[\w./:@%+=, -]*')*(?<![&|;])$/;

/** Makes commands of a script that has nothing else. Returns whether it does. */
function readScript(node: DraftNode, context: Context, path: string): boolean {
  const commands = (context.files.text(path) ?? "").split(/\r?\n/).filter((line) => line.trim() !== "");
  if (!commands.every((line) => plainCommand.test(line.trimEnd()))) return false;
  node.add("exec", commands, fileValue(context, path), `commands: ${commands.length}`);
  return true;
}

const belowCache = new WeakMap<SourceFiles, ReadonlyMap<string, readonly string[]>>();

/** Returns the files of a project by the folder of their node: project-files/KIND/ID. */
function filesBelow(files: SourceFiles, prefix: string): ReadonlyMap<string, readonly string[]> {
  let found = belowCache.get(files);
  if (found === undefined) {
    const folders = new Map<string, string[]>();
    for (const path of files.paths) {
      const [top, kind, id, ...inner] = path.startsWith(prefix) ? path.slice(prefix.length).split("/") : [];
      if (top !== "project-files" || inner.length === 0) continue;
      const folder = `${top}/${kind}/${id}`;
      const list = folders.get(folder) ?? [];
      folders.set(folder, list);
      list.push(path);
    }
    found = folders;
    belowCache.set(files, found);
  }
  return found;
}

function readFile(
  draft: Draft,
  node: DraftNode,
  context: Context,
  file: { readonly path: string; readonly inside: string; readonly count: number },
): void {
  const { path, inside } = file;
  const part = fileValue(context, path);
  const text = context.files.text(path);
  if (/\/\.gns3_perms$/.test(inside) || /\/\.(ash|bash)_history$/.test(inside)) part.dropped("GNS3's own, or a history of commands");
  else if (inside === "/etc/network/interfaces") {
    const commands = interfacesCommands(text ?? "");
    if (commands.length === 0) part.dropped("it sets no addresses");
    else node.add("exec", commands, part, `commands: ${commands.length}`);
  } else if (node.template === "frr" && /^\/etc\/frr\/(daemons|vtysh\.conf)$/.test(inside))
    part.dropped("the daemons that the configuration uses start");
  else if (text === undefined) part.dropped("it is not text");
  else if (file.count >= maxFiles) part.dropped(`more than ${maxFiles} files`);
  else if (/\/frr\.conf$|\/Quagga\.conf$/i.test(inside)) carryConfig(draft, node, text, part, `configs/${node.key}.conf`);
  else if (!node.takesFiles || text.length > 262_144)
    part.dropped(node.takesFiles ? "it is too long" : `template ${node.template} has no files`);
  else node.put("files", inside, { from: draft.file(`files/${node.key}${inside}`, text) }, part, `the file ${inside} of the node`);
}

function prefixOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/") + 1) : "";
}
