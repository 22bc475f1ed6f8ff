import { currentCall } from "../common/current-call.ts";
import type { LabUses } from "./lab-uses.ts";

/** Operations that use a lab: changes, and ways into its nodes. Reads, plans, and live traffic do not count as use. */
const using: ReadonlySet<string> = new Set([
  "deployProject",
  "reconcileProject",
  "execProject",
  "saveConfigs",
  "testProject",
  "resumeLab",
  "renumberLab",
  "takeSnapshot",
  "restoreSnapshot",
  "removeSnapshot",
  "editProject",
  "applyLinkQuality",
  "setLinkSuspend",
  "setLabGrants",
  "setLabLock",
  "setLabResume",
  "extendLease",
  "attachConsole",
  "streamConsole",
  "execConsole",
  "execConsoleMany",
  "runConsole",
  "execNodes",
  "attachProcess",
  "streamProcess",
  "copyFiles",
  "startCapture",
  "stopCapture",
  "attachCapture",
]);

type AnyHandler = (
  request: { readonly body?: { readonly peek?: boolean } },
  caller: { readonly user: string } | null,
  call: unknown,
) => unknown;

/** Returns the handlers; those that use a lab note it. A call that is refused, or that fails, does not count as use. */
export function withUses<Handlers extends object>(handlers: Handlers, uses: LabUses): Handlers {
  const noting =
    (handle: AnyHandler): AnyHandler =>
    async (request, caller, call) => {
      const paths = new Set<string>();
      const onLab = (path: string) => void paths.add(path);
      const answer = await currentCall.run({ user: caller?.user ?? "", onLab }, async () => handle(request, caller, call));
      // A pull that only looks at the differences is a read.
      if (request.body?.peek !== true) for (const path of paths) uses.note(path);
      return answer;
    };
  const wrapped = Object.entries(handlers).map(([id, handle]) => [id, using.has(id) ? noting(handle as AnyHandler) : handle]);
  return Object.fromEntries(wrapped) as Handlers;
}
