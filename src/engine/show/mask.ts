import type { Lab, LabFile, LabNode, LabText } from "../../intent/lab/lab.ts";
import type { Action, Change } from "../model/plan.ts";
import { hidden, isSensitive } from "../model/sensitive.ts";
import { maskBoots, maskTests } from "./mask-tests.ts";
import { maskText } from "./secret-words.ts";

/**
 * Returns the lab without its secrets, which read "(sensitive)": values of env variables, attributes and labels with a sensitive name, files with a
 * sensitive path, and text after a word such as password, secret, key or community in every text that the author words freely.
 */
export function maskLab(lab: Lab): Lab {
  const { tests, boots } = lab;
  return {
    ...maskObserved(lab),
    ...(tests !== undefined && { tests: maskTests(tests) }),
    ...(boots !== undefined && { boots: maskBoots(boots) }),
  };
}

/** Returns a host's lab without its secrets, as maskLab. Two masked labs differ only in their public parts. */
export function maskObserved<L extends LabWithSecrets>(lab: L): L {
  const { description } = lab;
  return {
    ...lab,
    ...(description !== undefined && { description: maskText(description) }),
    nodes: lab.nodes.map(maskNode),
    texts: lab.texts.map((one) => ({ ...one, text: maskText(one.text) })),
  };
}

/** Returns the text of a file in a node without its secrets. The whole text is a secret if the path is sensitive. */
export function maskFile(path: string, text: string): string {
  return isSensitive(path) && text !== "" ? hidden : maskText(text);
}

/** Returns values without their secrets. The whole value is a secret if its name is sensitive. */
export function maskValues<T>(values: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  const masked = ([name, value]: readonly [string, unknown]) => [name, isSensitive(name) ? hidden : maskValue(value)];
  return Object.fromEntries(Object.entries(values).map(masked)) as Record<string, T>;
}

/** The fields of a lab without tests and conditions that may contain secrets. */
interface LabWithSecrets {
  readonly description?: string;
  readonly nodes: readonly NodeWithSecrets[];
  readonly texts: readonly LabText[];
}

type NodeWithSecrets = Pick<LabNode, "env" | "attributes" | "labels" | "exec" | "startupConfig" | "files">;

/** Fields without secrets: names, places, numbers, and texts of a form that the reader checks, such as addresses and public keys. */
type PublicOfNode = "key" | "name" | "template" | "image" | "icon" | "kernel" | "startupConfigFile" | "fileSources" | "switching" | "ports";
type PublicOfNodeToo = "pull" | "binds" | "mgmtIpv4" | "mgmtIpv6" | "sshKeys" | "cpu" | "ram" | "ethernet" | "start" | "position";
type PublicOfLab = "name" | "management" | "lease" | "place" | "networks" | "links" | "trafficFilters" | "shapes" | "inherited";
type Decided<Of, Fields extends keyof Of> = [Exclude<keyof Of, Fields>] extends [never] ? true : never;

// A new field does not compile until it is masked or listed above.
const everyFieldIsDecided: readonly [
  Decided<LabNode, keyof NodeWithSecrets | PublicOfNode | PublicOfNodeToo>,
  Decided<Lab, keyof LabWithSecrets | "tests" | "boots" | PublicOfLab>,
] = [true, true];
void everyFieldIsDecided;

function maskNode<N extends NodeWithSecrets>(node: N): N {
  return {
    ...node,
    env: maskValues(node.env),
    attributes: maskValues(node.attributes),
    labels: maskValues(node.labels),
    exec: node.exec.map(maskText),
    ...(node.startupConfig !== undefined && { startupConfig: maskText(node.startupConfig) }),
    ...(node.files !== undefined && { files: maskFiles(node.files) }),
  };
}

function maskFiles(files: Readonly<Record<string, LabFile>>): Readonly<Record<string, LabFile>> {
  return Object.fromEntries(Object.entries(files).map(([path, file]) => [path, { ...file, text: maskFile(path, file.text) }]));
}

/** Fields of a change whose text may contain secrets. Sensitive env and attributes are hidden in every plan. */
const texts = /^(?:startup-config|exec|description|texts|(?:env|attributes|labels|files)\.[\s\S]*)$/;
/** Fields of a change whose whole value is a secret if the rest of the field's name is sensitive. */
const named = /^(?:labels|files)\.([\s\S]*)$/;

/** Returns an action or step without the secrets in its changes. */
export function maskAction<A extends Pick<Action, "changes">>(action: A): A {
  return { ...action, changes: action.changes.map(maskChange) };
}

function maskChange(change: Change): Change {
  if (!texts.test(change.field)) return change;
  const isWhole = isSensitive(named.exec(change.field)?.[1] ?? "");
  const [before, after] = [change.before, change.after].map((value) => (isWhole && value !== null ? hidden : maskValue(value)));
  // The values may be masked already.
  return [before, after].some(hasHidden) ? { ...change, before, after, sensitive: true } : change;
}

function hasHidden(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).some(hasHidden);
  return typeof value === "string" && value.includes(hidden);
}

function maskValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskValue);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, maskValue(part)]));
  }
  return typeof value === "string" ? maskText(value) : value;
}
