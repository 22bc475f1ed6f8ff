import type { JobRow } from "../store/store.ts";

type Fields = Readonly<Record<string, unknown>>;

const isText = (value: unknown): boolean => typeof value === "string";
const isFlag = (value: unknown): boolean => typeof value === "boolean";
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const isPair = (value: unknown): boolean => isTexts(value) && (value as readonly string[]).length === 2;
const hasIntent = ({ yaml, files }: Fields): boolean => isText(yaml) && isFields(files) && Object.values(files).every(isText);

/** Checks of each operation's stored request. */
const requests: Readonly<Record<string, (request: Fields) => boolean>> = {
  deployProject: (request) => hasIntent(request) && isFlag(request["replace"]),
  reconcileProject: (request) => hasIntent(request) && isFlag(request["prune"]) && isFlag(request["confirm"]),
  importProject: (request) => hasIntent(request) && isFlag(request["replace"]) && isSource(request["source"]),
  destroyProject: ({ wipe, force }) => isFlag(wipe) && (force === undefined || isFlag(force)),
  execProject: ({ action, nodes, mode }) =>
    ["start", "stop", "wipe"].includes(action as string) && isTexts(nodes) && [0, 1, 2, 3].includes(mode as number),
  applyLinkQuality: ({ endpoints, quality, save }) => isPair(endpoints) && isFields(quality) && isFlag(save),
  setLinkSuspend: ({ endpoints, suspended }) => isPair(endpoints) && isFlag(suspended),
  resumeLab: () => true,
  saveConfigs: ({ nodes }) => nodes === undefined || isTexts(nodes),
  renumberLab: () => true,
  takeSnapshot: ({ snapshot }) => isText(snapshot),
  restoreSnapshot: ({ snapshot }) => isText(snapshot),
  removeSnapshot: ({ snapshot }) => isText(snapshot),
};

function isSource(value: unknown): boolean {
  return isFields(value) && isText(value["lab"]) && Array.isArray(value["report"]);
}

/** Why recovery cannot finish a change that a crash cut off; undefined if it can try. */
export function requestProblem({ operation, request, unreadable }: JobRow): string | undefined {
  if (unreadable === true) return "its row in the journal cannot be read";
  const isRequest = Object.hasOwn(requests, operation) ? requests[operation] : undefined;
  if (isRequest === undefined) return `this version does not know the operation ${operation}`;
  return isFields(request) && isRequest(request) ? undefined : `its row in the journal holds no request of ${operation}`;
}
