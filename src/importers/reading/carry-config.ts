import type { Draft } from "../draft/draft.ts";
import type { DraftNode } from "../draft/draft-node.ts";
import type { ConfigLanguage } from "../mapping/mapping.ts";
import { ownValue } from "../tree/own-value.ts";
import type { Part } from "../tree/part.ts";
import { pcConfig } from "./pc-config.ts";

/** The language of the startup-config of our own templates. */
const languages: Readonly<Record<string, readonly ConfigLanguage[]>> = { frr: ["frr"], linux: ["shell"], pc: ["pc"], qemu: ["cloud-init"] };

/** Where a node without a place of its own for it gets the configuration that it had. */
const carriedPath = "/root/imported/startup-config";

/**
 * Takes a node's configuration over, unchanged: as its startup-config if the node's software reads it, otherwise as a file in the node, and in any case as a file of the lab.
 * @param part what the configuration comes from
 */
export function carryConfig(draft: Draft, node: DraftNode, text: string, part: Part, path = `configs/${node.key}.cfg`): void {
  if (text.trim() === "") {
    part.dropped("empty");
    return;
  }
  const { rule, isStandIn } = node.choice;
  const language = rule?.config;
  const isScript = language !== "shell" || !/^\s*(#cloud-config|\{)|^(users|packages|runcmd|write_files|network|hostname):/m.test(text);
  const isOwn = isScript && !isStandIn && language !== undefined && (ownValue(languages, node.template)?.includes(language) ?? false);
  if (isOwn && language === "pc") {
    carryPcConfig(draft, node, { text, part, path });
    return;
  }
  if (isOwn || ((node.machine ?? node.kind)?.startupConfig === true && !isStandIn)) {
    node.set("startup-config", draft.file(path, text));
    part.kept(`the startup-config, in ${path}`);
    return;
  }
  if (!node.takesFiles) {
    part.mapped(`the file ${draft.file(path, text)} beside the lab: template ${node.template} has no configuration`);
    return;
  }
  const inNode = (isStandIn ? undefined : rule?.configPath) ?? carriedPath;
  const file = draft.file(path, text);
  node.put("files", inNode, { from: file });
  const why = isStandIn ? `, unchanged: template ${node.template} does not read it` : "";
  const message = `the file ${inNode} of the node, from ${file}${why}`;
  if (isStandIn && language === "ios" && node.template === "frr") draft.iosConfigs.push({ node, text, part, message });
  else part.mapped(message);
}

/** A VPCS has commands that template pc does not have: they would end its boot. */
function carryPcConfig(draft: Draft, node: DraftNode, { text, part, path }: { text: string; part: Part; path: string }): void {
  const pc = pcConfig(text);
  const without = pc.left.length === 0 ? "" : `, without ${pc.left.length} lines: ${pc.left.slice(0, 3).join("; ").slice(0, 200)}`;
  if (pc.text === "") {
    part.dropped(`template pc has none of its commands${without}`);
    return;
  }
  node.set("startup-config", draft.file(path, pc.text));
  if (pc.text.trim() === text.trim()) part.kept(`the startup-config, in ${path}`);
  else part.mapped(`the startup-config, in the words of template pc${without}`);
}
