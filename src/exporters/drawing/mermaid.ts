import type { Lab } from "../../intent/lab/lab.ts";
import { type DrawnLink, drawingOf, interfacesText, type Member, type Shape } from "./drawing.ts";

const brackets: Readonly<Record<Shape, readonly [string, string]>> = {
  router: ["(", ")"],
  switch: ["[", "]"],
  host: ["([", "])"],
  bridge: ["{{", "}}"],
  cloud: ["((", "))"],
};

/** Words of Mermaid, which cannot be ids. */
const reserved = new Set([
  "end",
  "graph",
  "subgraph",
  "flowchart",
  "style",
  "linkstyle",
  "class",
  "classdef",
  "click",
  "default",
  "direction",
]);
const plainId = /^[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*$/;

/** Returns a lab as a flowchart of Mermaid: nodes with their template as class, links with their interfaces as label. */
export function mermaidText(lab: Lab): string {
  const { title, members, links } = drawingOf(lab);
  const ids = new Map(members.map(({ key }, index) => [key, plainId.test(key) && !reserved.has(key.toLowerCase()) ? key : `n_${index}`]));
  const id = (key: string) => ids.get(key) ?? key;
  const lines = [
    "---",
    `title: ${JSON.stringify(title)}`,
    "---",
    "flowchart LR",
    ...members.map((member) => `  ${memberLine(member, id(member.key))}`),
    ...links.map((link) => `  ${id(link.from)} ${edge(link)} ${id(link.to)}`),
  ];
  return `${lines.join("\n")}\n`;
}

function memberLine({ label, shape, type }: Member, id: string): string {
  const [open, close] = brackets[shape];
  return `${id}${open}"${quoted(label)}"${close}:::${type.replaceAll(/[^A-Za-z0-9_-]/g, "_")}`;
}

function edge(link: DrawnLink): string {
  const text = [interfacesText(link), link.quality].filter((part) => part !== "").join("<br/>");
  const line = link.isSuspended ? "-.-" : "---";
  return text === "" ? line : `${line}|"${quoted(text)}"|`;
}

/** Mermaid's texts have entities, with # instead of &. It takes %%{…}%% as settings, also within a text. */
function quoted(text: string): string {
  return text.replaceAll("#", "#35;").replaceAll('"', "#quot;").replaceAll("%%", "#37;#37;").replaceAll(/\s+/g, " ");
}
