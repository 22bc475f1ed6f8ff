import { Failure } from "../../contract/errors.ts";
import type { EveAccount } from "./account.ts";
import { entriesOf, hostError, numberOf, recordOf, textOf } from "./answer.ts";
import { hostFailure } from "./host-failure.ts";
import type { EveLabPath } from "./lab-path.ts";

/** What the host tells of a lab itself. */
export interface LabHead {
  readonly uuid: string;
  readonly name: string;
  readonly lock: number;
  readonly description: string;
}

/** null: there is no such lab. */
export async function readHead(account: EveAccount, at: EveLabPath, signal?: AbortSignal): Promise<LabHead | null> {
  const answer = await account.call({ path: `/api/labs${at.url}`, read: true, signal });
  if (answer.code === 60000 || (answer.status === 404 && answer.code === undefined)) return null;
  if (answer.code === 20003) throw hostFailure(`the file of lab ${at.file} on the host is broken: it cannot be read there`);
  const data = recordOf(answer.data);
  const uuid = textOf(data.id);
  if (answer.status >= 300 || uuid === undefined) throw hostError(`read lab ${at.path}`, answer);
  return {
    uuid,
    name: textOf(data.name) ?? at.name,
    lock: numberOf(data.lock) ?? (data.lock === true ? 1 : 0),
    description: unescaped(textOf(data.description) ?? ""),
  };
}

/** The host tells the description as it would stand in a page. */
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

/** One node as the list of nodes tells it: what changes without the file. */
export interface NodeStatus {
  readonly id: number;
  readonly name: string;
  /** 0 stopped, 1 stopped and being prepared, 2 running, 3 running while a script configures it; more on Professional. */
  readonly status: number;
  readonly url: string;
  readonly console: string;
  /** All that it tells of the node. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Throws lab_not_found. About 25 ms for each node, of the host's time. */
export async function readNodes(account: EveAccount, at: EveLabPath, signal?: AbortSignal): Promise<readonly NodeStatus[]> {
  return nodeStatuses(await account.get(`/api/labs${at.url}/nodes`, `list the nodes of ${at.path}`, signal));
}

/** The nodes of a list, by id. */
export function nodeStatuses(data: unknown): readonly NodeStatus[] {
  return entriesOf(data).map(([key, value]) => {
    const node = recordOf(value);
    return {
      id: numberOf(node.id) ?? Number(key),
      name: textOf(node.name) ?? "",
      status: numberOf(node.status) ?? 0,
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
