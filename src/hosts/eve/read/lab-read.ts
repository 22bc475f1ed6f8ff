import { Failure } from "../../../contract/errors.ts";
import { unreadableLab } from "../../host-unreadable.ts";
import type { EveAccount } from "../account/account.ts";
import { type EveAnswer, entriesOf, hostError, listOf, numberOf, recordOf, textOf } from "../api/answer.ts";
import { hostFailure } from "../api/host-failure.ts";
import { shortText } from "../api/short-text.ts";
import { plainAuthor } from "../lab-file/host-names.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import type { EveLabPath } from "./lab-path.ts";

/** The lab's own fields, from the host. */
export interface LabHead {
  readonly uuid: string;
  readonly name: string;
  readonly lock: number;
  readonly description: string;
  readonly author: string;
  /** The tasks: Markdown, shown beside the lab. */
  readonly body: string;
  readonly version?: string;
  /** Seconds. */
  readonly scripttimeout?: number;
}

/** null: there is no such lab. */
export async function readHead(account: EveAccount, at: EveLabPath, signal?: AbortSignal): Promise<LabHead | null> {
  const answer = await account.call({ path: `/api/labs${at.url}`, read: true, signal });
  if (answer.code === 60000 || (answer.status === 404 && answer.code === undefined)) return null;
  refuseUnreadable(account, at, answer);
  const data = recordOf(answer.data);
  const uuid = textOf(data.id);
  const [version, scripttimeout] = [textOf(data.version), numberOf(data.scripttimeout)];
  if (answer.status >= 300 || uuid === undefined) throw hostError(`read lab ${at.path}`, answer);
  return {
    uuid,
    name: textOf(data.name) ?? at.name,
    lock: numberOf(data.lock) ?? (data.lock === true ? 1 : 0),
    description: unescaped(textOf(data.description) ?? ""),
    author: plainAuthor(textOf(data.author) ?? ""),
    body: unescaped(textOf(data.body) ?? ""),
    // The host returns 0 for a lab without a version.
    ...(version !== undefined && version !== "0" && { version }),
    ...(scripttimeout !== undefined && { scripttimeout }),
  };
}

/**
 * Throws the error of `unreadableLab` if the host refuses to load the lab. Its answer is then not one of its own messages, but PHP's message, or only
 * the number for a file that is not XML. PNETLab also has messages without numbers for other errors.
 */
function refuseUnreadable({ pnetlab }: EveAccount, at: EveLabPath, { status, code, message, broken }: EveAnswer): void {
  const isBare = code === 20003 && message === "20003";
  if (status !== 400 || broken || message === "" || (!isBare && (pnetlab || code !== undefined))) return;
  const said = isBare ? "it is not valid XML (20003)" : message;
  const text = `lab ${at.path}: the host cannot read its file ${at.file}: ${said}. Correct the file on the host, or destroy the lab`;
  throw unreadableLab(text, { ...(code !== undefined && { code }), message, status });
}

/** Restores the fields that an export omits, so that an import gives the same lab. */
export function withHead(lab: UnlLab, { uuid, name, lock, description }: LabHead): UnlLab {
  return { ...lab, id: uuid, name, lock, description: lab.description ?? description };
}

/** The host returns the description and the tasks escaped for a web page. */
function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&#039;", "'").replaceAll("&amp;", "&");
}

export async function mustReadHead(account: EveAccount, at: EveLabPath): Promise<LabHead> {
  const head = await readHead(account, at);
  if (head === null) throw labNotFound(at.path);
  return head;
}

export function labNotFound(path: string): Failure {
  return new Failure("lab_not_found", `there is no lab ${path}`);
}

/** One node of the list of nodes, with the fields that change independently of the file. */
export interface NodeStatus {
  readonly id: number;
  readonly name: string;
  /** 0 stopped, 1 stopped and being prepared, 2 running, 3 running while a script configures it; more on Professional. */
  readonly status: number;
  readonly url: string;
  readonly console: string;
  /** All fields of the node in the list. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads the states of the nodes. Takes the host about 25 ms for each node. Throws lab_not_found. */
export async function readNodes(account: EveAccount, at: EveLabPath, signal?: AbortSignal): Promise<readonly NodeStatus[]> {
  const answer = await account.call({ path: `/api/labs${at.url}/nodes`, read: true, signal });
  refuseUnreadable(account, at, answer);
  if (answer.status >= 300 || answer.word !== "success") throw hostError(`list the nodes of ${at.path}`, answer);
  const nodes = statusesOf(answer.data);
  const odd = nodes.find((node) => "problem" in node);
  if (odd !== undefined && "problem" in odd) {
    const message = `lab ${at.path}: ${odd.problem}. Correct its file ${at.file} on the host, or destroy the lab`;
    throw unreadableLab(message, { message: odd.problem, status: answer.status });
  }
  if (nodes.length <= maxReadNodes) return nodes.filter(isSound);
  const message = `lab ${at.path} has ${nodes.length} nodes; Labwright reads labs of EVE-NG with at most ${maxReadNodes}`;
  throw unreadableLab(message, { message, status: answer.status });
}

/** Twice the maximum of any edition. A larger file was not made by EVE-NG, and would delay the requests of other users. */
const maxReadNodes = 1024;

/** Parses a list of nodes, by id. Throws host_error for anything else, so that running nodes do not count as absent. */
export function nodeStatuses(data: unknown): readonly NodeStatus[] {
  return statusesOf(data).map((node) => {
    if ("problem" in node) throw hostFailure(`list the nodes: ${node.problem}`);
    return node;
  });
}

/** Parses the list of another lab: a node that the host cannot number does not run, and must not delay this lab. Throws host_error if it is not a list. */
export function otherStatuses(data: unknown): readonly NodeStatus[] {
  return statusesOf(data).filter(isSound);
}

interface OddNode {
  readonly problem: string;
}

function isSound(node: NodeStatus | OddNode): node is NodeStatus {
  return !("problem" in node);
}

function statusesOf(data: unknown): readonly (NodeStatus | OddNode)[] {
  return listOf(data, "list the nodes").map(([key, value]) => {
    const node = recordOf(value);
    const [id, status, name] = [numberOf(node.id) ?? Number(key), numberOf(node.status), textOf(node.name) ?? ""];
    if (!Number.isInteger(id) || status === undefined)
      throw hostFailure("list the nodes: the host answered a node without a number or a status");
    // The host's own numbers begin at 1. It returns 0 for an id in the file that is not a number.
    if (id < 1 || !Number.isSafeInteger(id))
      return { problem: `its node ${shortText(name)} has the id ${id}, which is not a number of a node` };
    return { id, name, status, url: textOf(node.url) ?? "", console: textOf(node.console) ?? "", data: node };
  });
}

/** Returns the time of the last write of the lab's file, from the folder's listing, in seconds, and the host's clock at the moment of reading, ms. */
export async function readFileTime(
  account: EveAccount,
  at: EveLabPath,
): Promise<{ readonly written: number; readonly now: number } | undefined> {
  const answer = await account.call({ path: `/api/folders${encodeFolder(at.folder)}`, read: true });
  const lab = entriesOf(recordOf(answer.data).labs).find(([, one]) => textOf(recordOf(one).file) === `${at.name}.unl`)?.[1];
  const written = numberOf(recordOf(lab).umtime);
  return written === undefined || answer.time === undefined ? undefined : { written, now: answer.time };
}

function encodeFolder(folder: string): string {
  return folder === "/" ? "/" : folder.split("/").map(encodeURIComponent).join("/");
}

/** Returns whether the node's process exists or may exist, by its status. */
export function isUp(status: number): boolean {
  return status !== 0;
}
