import { posix } from "node:path";
import type { NodeAttachData, NodeCopyPayload } from "../../contract/schemas/processes.ts";
import type { Caller } from "../common/call.ts";
import { badRequest } from "../common/refusals.ts";
import type { LookupParts, ObservationsPart } from "../context/parts.ts";
import type { Tickets } from "../sessions/tickets.ts";
import { attachProcess, type ProcessGrant } from "./attach-process.ts";

/** GNU tar writes large blocks if it is asked to; other tars do not know the option. dd ends a tar that never stops writing. */
const prepare = `command -v tar > /dev/null || { echo "no program tar in this node, which copies need" >&2; exit 127; }
case $(tar --version 2> /dev/null | dd bs=64 count=1 2> /dev/null) in *GNU*) blocks="-b 128" ;; *) blocks= ;; esac`;

/** $1: the folder, $2: the name of a file or folder in it. */
const fromNode = `${prepare}
cd -- "$1" || exit 1
exec tar $blocks -cf - -- "$2"`;

/** $1: the path, $2: its parent folder. */
const toNode = `${prepare}
if [ -d "$1" ]; then cd -- "$1" && echo folder || exit 1; else cd -- "$2" && echo parent || exit 1; fi
exec tar $blocks -xpf -`;

/**
 * Issues a one-time ticket for a copy. tar runs in the node as one of its processes, so that no path leads out of the node's file system. The client must
 * not trust the archive that it gets.
 */
export async function copyFiles(
  context: LookupParts & ObservationsPart,
  tickets: Tickets<ProcessGrant>,
  caller: Caller,
  { path, direction, ...payload }: NodeCopyPayload,
): Promise<NodeAttachData> {
  if (!path.startsWith("/") || path.includes("\0")) throw badRequest("/path", "must be an absolute path");
  const whole = posix.normalize(path).replace(/(.)\/+$/, "$1");
  if (direction === "from_node" && whole === "/") throw badRequest("/path", "a whole file system is not copied: choose a folder of it");
  const [folder, name] = [posix.dirname(whole), posix.basename(whole)];
  const argv = direction === "from_node" ? ["/bin/sh", "-c", fromNode, "sh", folder, name] : ["/bin/sh", "-c", toNode, "sh", whole, folder];
  // Into a node, the client reads the first line before it sends the archive.
  return await attachProcess(context, tickets, caller, { ...payload, argv }, direction === "to_node" ? { conversation: true } : {});
}
