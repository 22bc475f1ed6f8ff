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
if [ ! -e "$1/$2" ] && [ ! -L "$1/$2" ]; then
  case $2 in *[*?]*) why=": a path of a node is not a pattern" ;; *) why= ;; esac
  echo "the node has no such file or folder$why" >&2
  exit 1
fi
cd -- "$1" || exit 1
exec tar $blocks -cf - -- "$2"`;

/**
 * $1: the path, $2: its parent folder. tar writes into a folder of its own, so that a copy that breaks off leaves no file under its name; then everything is
 * moved, as tar would have written it. Folders of copies that were killed are removed by the next copy.
 */
const toNode = String.raw`${prepare}
[ -d "$2" ] || { echo "the node has no folder $2" >&2; exit 1; }
if [ -d "$1" ]; then cd -- "$1" && echo folder || exit 1; else cd -- "$2" && echo parent || exit 1; fi
for old in .labwright-part.*; do [ ! -d "$old" ] || [ -d "/proc/${"$"}{old##*.}" ] || rm -rf -- "$old"; done
part=.labwright-part.$$
end() {
  rm -rf -- "$part"
  exit "$1"
}
# $1: a folder of the copy, $2: the folder of the node. Both have the same name.
alike() {
  mode=$(stat -c "%a %u:%g" -- "$1" 2> /dev/null) && chmod -- "${"$"}{mode% *}" "$2" && chown -- "${"$"}{mode#* }" "$2" && touch -r "$1" -- "$2"
  return 0
}
# Moves everything of the folder $1 into the folder $2, many files at once.
merge() {
  local from into each to
  from=$1 into=$2
  set --
  for each in "$from"/* "$from"/.[!.]* "$from"/..?*; do
    [ -e "$each" ] || [ -L "$each" ] || continue
    to=$into/${"$"}{each##*/}
    if [ -d "$to" ] && [ ! -L "$to" ]; then
      if [ ! -d "$each" ] || [ -L "$each" ]; then
        echo "$to is a folder in the node and none in the copy" >&2
        return 1
      fi
      merge "$each" "$to" || return 1
      alike "$each" "$to"
      continue
    fi
    if [ -d "$each" ] && [ ! -L "$each" ]; then rm -f -- "$to" || return 1; fi
    set -- "$@" "$each"
    [ $# -lt 200 ] || { mv -f -- "$@" "$into/" || return 1; set --; }
  done
  [ $# = 0 ] || mv -f -- "$@" "$into/"
}
trap "end 143" TERM
mkdir -- "$part" || exit 1
( cd -- "$part" && exec tar $blocks -xpf - ) || end $?
merge "$part" . || end 1
end 0`;

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
  return await attachProcess(
    context,
    tickets,
    caller,
    { ...payload, argv },
    direction === "to_node" ? { conversation: true, cleansUp: true } : {},
  );
}
