import { sameFrr } from "../../base/frr-config.ts";
import { withAddedLines, withoutGenerated, withReplacedAddresses } from "../generate/frr-text.ts";
import type { LabNode } from "../lab/lab.ts";
import type { Reading } from "../read/read.ts";
import { CannotChangePart } from "./expanded.ts";

/** A node with what its helpers make, and without it. */
interface Made {
  readonly was: LabNode;
  readonly own: LabNode;
}

/**
 * Returns the wanted nodes without the commands and the configurations that helpers of the text make. A copy of a node goes without them too.
 * @throws CannotChangePart for a node whose made parts are changed.
 */
export function authoredNodes(reading: Reading, wanted: readonly LabNode[]): readonly LabNode[] {
  const { generated = new Map<string, LabNode>(), nodes } = reading;
  const made = new Map<string, Made>();
  for (const [key, was] of generated) {
    const own = nodes.get(key)?.node;
    if (own !== undefined && own !== was) made.set(key, { was, own });
  }
  const copied = new Copies([...made.values()]);
  return wanted.map((node) => {
    const one = made.get(node.key);
    if (one === undefined) return nodes.has(node.key) ? node : copied.own(node);
    const left = { ...node, exec: ownCommands(reading, node, one) };
    if (one.was.startupConfig === one.own.startupConfig) return left;
    return withConfig(left, ownConfig(reading, node, one), one.own.startupConfigFile);
  });
}

function ownCommands(reading: Reading, { key, exec }: LabNode, { was, own }: Made): readonly string[] {
  const first = was.exec.slice(0, was.exec.length - own.exec.length);
  if (first.every((command, index) => exec[index] === command)) return exec.slice(first.length);
  throw cannotChange(reading, key, "commands");
}

function ownConfig(reading: Reading, { key, startupConfig }: LabNode, { was, own }: Made): string | undefined {
  if (startupConfig === was.startupConfig) return own.startupConfig;
  const template = reading.nodes.get(key)?.template?.template;
  if (template !== undefined) {
    const message = `the startup-config of node ${key} is rendered from the template ${template.file}: change the template, or write a text in its place; labwright render --configs prints it`;
    throw new CannotChangePart(template.at.value, message);
  }
  const [mine, before, now] = [own.startupConfig ?? "", was.startupConfig ?? "", startupConfig ?? ""];
  // The router may show lines of the node's own in a generated section.
  if (sameFrr(before, now)) return own.startupConfig;
  // Lines that are added in a generated section become a section of the node's own, which FRR reads later.
  const left = withoutGenerated(mine, before, now) ?? withAddedLines(mine, before, now);
  if (left === undefined) throw cannotChange(reading, key, "startup-config");
  return withReplacedAddresses(mine, before, left);
}

function cannotChange({ root, nodes }: Reading, key: string, what: "commands" | "startup-config"): CannotChangePart {
  const helper = root.entries.get(what === "commands" ? "addressing" : "routing") ?? root.entries.get("addressing");
  const place = helper?.place ?? nodes.get(key)?.entry.place ?? root;
  const from = helper?.key ?? "its addresses or routing";
  const next = what === "commands" ? "write addresses of the node" : "change it there, or write lines of the node's own, which win";
  return new CannotChangePart(
    place,
    `node ${key}: ${from} makes the part of its ${what} that would change: ${next}; labwright render prints it`,
  );
}

function withConfig(
  { startupConfig: _config, startupConfigFile: _file, ...node }: LabNode,
  config: string | undefined,
  file: string | undefined,
): LabNode {
  if (config === undefined) return node;
  return { ...node, startupConfig: config, ...(file !== undefined && { startupConfigFile: file }) };
}

/** Takes what helpers made out of copies of nodes: the copy gets its own. */
class Copies {
  readonly #commands: ReadonlySet<string>;
  readonly #configs: ReadonlyMap<string, LabNode>;

  constructor(made: readonly Made[]) {
    this.#commands = new Set(made.flatMap(({ was, own }) => was.exec.slice(0, was.exec.length - own.exec.length)));
    this.#configs = new Map(
      made.flatMap(({ was, own }) =>
        was.startupConfig === own.startupConfig || was.startupConfig === undefined ? [] : [[was.startupConfig, own] as const],
      ),
    );
  }

  own(node: LabNode): LabNode {
    const first = node.exec.findIndex((command) => !this.#commands.has(command));
    const exec = first < 0 ? [] : node.exec.slice(first);
    const source = node.startupConfig === undefined ? undefined : this.#configs.get(node.startupConfig);
    return source === undefined ? { ...node, exec } : withConfig({ ...node, exec }, source.startupConfig, source.startupConfigFile);
  }
}
