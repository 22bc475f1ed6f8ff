import { nodeKey } from "../base/node-key.ts";
import { LabwrightError } from "../client/index.ts";
import { endpointText } from "../intent/lab/lab.ts";
import { readDocument } from "../intent/read/read.ts";
import { Arguments } from "./command/arguments.ts";
import { Context } from "./command/context.ts";
import { findProject } from "./command/project.ts";
import { UsageError } from "./command/usage-error.ts";
import { selectorsOf } from "./selectors/select-nodes.ts";
import { openTerminal } from "./show/terminal.ts";

/** The hidden command of completion scripts, with the kind of name and the words of the line: `labwright __complete node -t lab.yaml`. */
export const completeCall = "__complete";

export type NameKind = "lab" | "node" | "interface" | "test";

const patienceMs = 2_000;

/** Returns the names that complete the line. Empty after an error: completion must not disturb the line that the user types. */
export async function completeNames(kind: string, words: readonly string[]): Promise<readonly string[]> {
  try {
    if (kind === "lab") return await labNames(words);
    const fromFile = await namesOfFile(kind, words);
    return fromFile ?? (await namesOfLab(kind, words));
  } catch (error) {
    if (error instanceof UsageError || error instanceof LabwrightError) return [];
    throw error;
  }
}

async function labNames(words: readonly string[]): Promise<readonly string[]> {
  using context = quietContext(words);
  const { labs } = await (await context.client()).listLabs({}, { timeoutMs: patienceMs });
  return labs.map(({ lab }) => lab);
}

/** Returns the names in the lab's file. `undefined` if the command line has no file, only the path of a lab on the service. */
async function namesOfFile(kind: string, words: readonly string[]): Promise<readonly string[] | undefined> {
  const { file } = await findProject(argumentsOf(words));
  if (file === undefined) return undefined;
  const { lab, reading } = readDocument(file.yaml, file.files);
  if (lab === undefined) return [];
  if (kind === "node") {
    const nodes = lab.nodes.map(({ key, template, labels = {} }) => {
      const { kind, groups = [] } = reading?.nodes.get(key) ?? {};
      return { key, kinds: [template, ...(kind === undefined ? [] : [kind])], groups, labels };
    });
    return [...nodes.map(({ key }) => key), ...selectorsOf(nodes)];
  }
  if (kind === "test") return (lab.tests ?? []).map(({ name }) => name);
  return lab.links.flatMap(({ endpoints }) => endpoints.filter((end) => "node" in end).map(endpointText));
}

async function namesOfLab(kind: string, words: readonly string[]): Promise<readonly string[]> {
  using context = quietContext(words);
  const { selector } = await context.project();
  const { nodes } = await (await context.client()).inspectProject(selector, { timeoutMs: patienceMs });
  const names = nodes.map(nodeKey);
  if (kind === "node")
    return [
      ...names,
      ...selectorsOf(nodes.map((node) => ({ key: nodeKey(node), kinds: [node.template], groups: [], labels: node.labels ?? {} }))),
    ];
  return nodes.flatMap(({ interfaces }, at) => interfaces.map(({ name }) => `${names[at]}:${name}`));
}

/** Returns a context without a terminal: completion must not ask for a password. */
function quietContext(words: readonly string[]): Context {
  return new Context({ ...openTerminal(process, { color: false, quiet: true }), interactive: false }, argumentsOf(words));
}

/** Returns the flags that select lab and service, from an incomplete line. */
function argumentsOf(words: readonly string[]): Arguments {
  const flags: Readonly<Record<string, string>> = { "-t": "topo", "--topo": "topo", "--lab": "lab", "--url": "url", "--pin": "pin" };
  const values = new Map<string, readonly string[]>();
  for (const [at, word] of words.entries()) {
    const [name = "", inline] = word.split(/=(.*)/, 2);
    const flag = flags[name];
    const value = inline ?? words[at + 1];
    if (flag !== undefined && value !== undefined && value !== "") values.set(flag, [value]);
  }
  return new Arguments([], values);
}
