import { Failure } from "../../../contract/errors.ts";
import { unreadableLab } from "../../host-unreadable.ts";
import type { EveAccount } from "../account/account.ts";
import { type EveAnswer, entriesOf, hostError, listOf, numberOf, recordOf, textOf } from "../api/answer.ts";
import { hostFailure } from "../api/host-failure.ts";
import { plainAuthor } from "../lab-file/host-names.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import type { EveLabPath } from "./lab-path.ts";

/** The lab's own fields, as the host reports them. */
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
 * Throws what `unreadableLab` makes if the host refuses to load the lab. Its answer is then not one of its own messages, but PHP's words, or the bare
 * number of a file that is no XML. PNETLab has words without numbers for other troubles, too.
 */
function refuseUnreadable({ pnetlab }: EveAccount, at: EveLabPath, { status, code, message, broken }: EveAnswer): void {
  const isBare = code === 20003 && message === "20003";
  if (status !== 400 || broken || message === "" || (!isBare && (pnetlab || code !== undefined))) return;
  const said = isBare ? "it is no valid XML (20003)" : message;
  const text = `lab ${at.path}: the host cannot read its file ${at.file}: ${said}. Correct the file on the host, or destroy the lab`;
  throw unreadableLab(text, { ...(code !== undefined && { code }), message, status });
}

/** Restores the fields that an export leaves out, so that an import puts the lab back as itself. */
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

/** One node as the list of nodes shows it: the fields that change without the file. */
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

/** Throws lab_not_found. About 25 ms for each node, of the host's time. */
export async function readNodes(account: EveAccount, at: EveLabPath, signal?: AbortSignal): Promise<readonly NodeStatus[]> {
  const answer = await account.call({ path: `/api/labs${at.url}/nodes`, read: true, signal });
  refuseUnreadable(account, at, answer);
  if (answer.status >= 300 || answer.word !== "success") throw hostError(`list the nodes of ${at.path}`, answer);
  const nodes = nodeStatuses(answer.data);
  if (nodes.length <= maxReadNodes) return nodes;
  const message = `lab ${at.path} has ${nodes.length} nodes; Labwright reads labs of EVE-NG with at most ${maxReadNodes}`;
  throw unreadableLab(message, { message, status: answer.status });
}

/** Twice what any edition accepts. A larger file was not made by EVE-NG, and would delay the requests of other users. */
const maxReadNodes = 1024;

/** The nodes of a list, by id. Throws host_error for what is no list of nodes: nodes that run must not be taken for absent ones. */
export function nodeStatuses(data: unknown): readonly NodeStatus[] {
  return listOf(data, "list the nodes").map(([key, value]) => {
    const node = recordOf(value);
    const [id, status] = [numberOf(node.id) ?? Number(key), numberOf(node.status)];
    if (!Number.isSafeInteger(id) || status === undefined)
      throw hostFailure("list the nodes: the host answered a node without a number or a status");
    return {
      id,
      name: textOf(node.name) ?? "",
      status,
      url: textOf(node.url) ?? "",
      console: textOf(node.console) ?? "",
      data: node,
    };
  });
}

/** When the lab's file was written last, by the folder's listing: seconds, and the host's clock at that moment, ms. */
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

/** Whether a status means that the node's process is there, or may be. */
export function isUp(status: number): boolean {
  return status !== 0;
}
