import type { Draft } from "../../draft/draft.ts";
import type { DraftNode } from "../../draft/draft-node.ts";
import { carryConfig } from "../../reading/carry-config.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import type { NodeForm } from "./inherited.ts";

export interface Place {
  readonly draft: Draft;
  readonly files: SourceFiles;
  /** Path of the lab's file. */
  readonly path: string;
  readonly node: DraftNode;
  /** The name of the node in the source. */
  readonly name: string;
  /** The name of the lab in the source. */
  readonly lab: string;
}

/** Takes over the startup-config: a file beside the lab, or the text itself. */
export function readStartupConfig(place: Place, form: NodeForm): void {
  const { draft, files, path, node } = place;
  const part = form.one("startup-config");
  const text = part?.text;
  if (part === undefined || text === undefined) return;
  if (text.includes("\n")) carryConfig(draft, node, text, part);
  else if (/^https?:\/\//.test(text)) part.dropped("configurations of the internet are not downloaded");
  else {
    const found = files.beside(path, withMagic(text, place));
    const config = found === undefined ? undefined : files.text(found);
    if (found === undefined) part.dropped(files.whyMissing(path, withMagic(text, place)));
    else if (config === undefined) part.dropped("the file is not text");
    else carryConfig(draft, node, config, part, found);
  }
}

/** Where the software of these templates expects its licence. */
const licensePaths: Readonly<Record<string, string>> = {
  nokia_srlinux: "/opt/srlinux/etc/license.key",
  juniper_crpd: "/config/license.conf",
};

/** Takes over the licence: a file of the node, if its software reads it there. */
export function readLicense(place: Place, form: NodeForm): void {
  const { draft, files, path, node } = place;
  const part = form.one("license");
  if (part?.text === undefined) return;
  const target = licensePaths[node.kind?.id ?? ""];
  const found = target === undefined ? undefined : files.beside(path, withMagic(part.text, place));
  const text = found === undefined ? undefined : files.text(found);
  if (target === undefined) part.dropped("licences of this software are not carried along");
  else if (found === undefined) part.dropped(files.whyMissing(path, withMagic(part.text, place)));
  else if (text === undefined) part.dropped("the file is not text");
  else {
    node.put("files", target, { from: draft.file(found, text) });
    part.mapped(`the file ${target} of the node`);
  }
}

/** The directories of nodes that containerlab makes are of no use here. */
function withMagic(text: string, { name, lab }: Place): string {
  return text.replaceAll("__clabNodeName__", name).replaceAll("__clabLabName__", lab).replaceAll("__clabDir__", ".");
}

const nodeLimits = { files: 200, characters: 900_000 } as const;

/** Makes each bind of a file or folder of the lab a file of the node. */
export function readBinds(place: Place, form: NodeForm): void {
  let [count, characters] = [0, 0];
  for (const bind of form.every("binds").flatMap(({ all }) => all)) {
    const [from = "", to = ""] = (bind.text ?? "").split(":");
    const copies = copiesOf(place, from, to);
    if (typeof copies === "string") {
      bind.dropped(copies);
      continue;
    }
    if (!place.node.takesFiles) {
      bind.dropped(`template ${place.node.template} has no files`);
      continue;
    }
    count += copies.length;
    characters += copies.reduce((sum, { text }) => sum + text.length, 0);
    if (count > nodeLimits.files || characters > nodeLimits.characters) {
      bind.dropped(`the files of a node have at most ${nodeLimits.files} files and ${nodeLimits.characters} characters together`);
      continue;
    }
    for (const { text, source, target } of copies) {
      const mode = text.startsWith("#!") ? "0755" : undefined;
      place.node.put("files", target, { from: place.draft.file(source, text), ...(mode !== undefined && { mode }) });
    }
    bind.mapped(copies.length === 1 ? `the node gets a copy of ${copies[0]?.source}` : `the node gets copies of ${copies.length} files`);
  }
}

interface Copy {
  readonly source: string;
  readonly target: string;
  readonly text: string;
}

function copiesOf(place: Place, from: string, to: string): readonly Copy[] | string {
  const { files, path, node } = place;
  if (/^[/~$]/.test(from)) return "nodes have no access to paths of the machine";
  const target = to.replace(/(.)\/+$/, "$1");
  if (!isNodePath(target)) return "its target is not a path that a node can have";
  if (isOfFrr(node, target)) return "template frr starts the daemons that its configuration uses";
  const source = withMagic(from, place).replace(/\/+$/, "");
  const single = files.beside(path, source);
  const { folder, files: inside } = files.below(path, source);
  const found = single === undefined ? inside : [single];
  if (found.length === 0) return files.whyMissing(path, source);
  const copies = found.flatMap((file): Copy[] => {
    const text = files.text(file);
    const inNode = single === undefined ? `${target}/${file.slice(folder.length)}` : target;
    return text === undefined || !isNodePath(inNode) || isOfFrr(node, inNode) ? [] : [{ source: file, target: inNode, text }];
  });
  return copies.length === 0 ? "the file is not text" : copies;
}

/** Files of FRR's packages that choose and configure its daemons. */
function isOfFrr({ template }: DraftNode, path: string): boolean {
  return template === "frr" && /^\/etc\/frr\/(daemons|vtysh\.conf)$/.test(path);
}

function isNodePath(path: string): boolean {
  const parts = path.split("/").slice(1);
  if (!path.startsWith("/") || path.length > 1024 || parts.some((part) => part === "" || part === "." || part === "..")) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a path must not contain them
  return !/[\0-\x1f\x7f]/.test(path) && !/^\/(proc|sys|dev|etc\/labwright)(\/|$)/.test(path);
}

/** Reads `env` and `env-files`. */
export function readEnvironment({ files, path, node }: Place, form: NodeForm): void {
  for (const file of form.every("env-files").flatMap(({ all }) => all)) {
    const found = files.beside(path, file.text ?? "");
    const text = found === undefined ? undefined : files.text(found);
    if (text === undefined) {
      file.dropped(found === undefined ? files.whyMissing(path, file.text ?? "") : "the file is not text");
      continue;
    }
    const pairs = text.split(/\r?\n/).flatMap((line) => {
      const [, key, value = ""] = /^\s*(?:export\s+)?([^=\s#]{1,255})=(.*)$/.exec(line) ?? [];
      return key === undefined ? [] : [[key, value.trim().replace(/^(["'])(.*)\1$/, "$2")] as const];
    });
    for (const [key, value] of pairs) node.put("env", key, value, file, "its variables are in env");
    if (pairs.length === 0) file.dropped("it has no variables");
  }
  for (const [key, part] of form.merged("env")) {
    if (/^[^=\s]{1,255}$/.test(key) && part.text !== undefined) node.put("env", key, part.text, part);
    else part.dropped("no name or value of an environment variable");
  }
}
