import { compareNatural } from "../../base/natural-order.ts";
import { type Lag, portWords, type Switching } from "../../intent/lab/switching.ts";
import type { Change } from "../model/plan.ts";

/** Returns one change for each interface and group, for the spanning tree and for the mirror, in the words of switches: "access 10". */
export function switchingChanges(before: Switching | undefined, after: Switching | undefined): readonly Change[] {
  const [a, b] = [words(before), words(after)];
  const names = [...new Set([...a.keys(), ...b.keys()])].sort(compareNatural);
  return names.flatMap((name): Change[] => {
    const [was, is] = [a.get(name) ?? null, b.get(name) ?? null];
    return was === is ? [] : [{ field: name === "" ? "switching" : `switching.${name}`, before: was, after: is }];
  });
}

/** The settings as texts by their names; "" for `switching: {}`, which is a VLAN-aware switch with defaults. */
function words(switching: Switching | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (switching === undefined) return found;
  const { interfaces = {}, lag = {}, spanningTree, mirror } = switching;
  found.set("", "VLAN-aware");
  for (const [name, port] of Object.entries(interfaces)) found.set(`interfaces.${name}`, portWords(port));
  for (const [name, group] of Object.entries(lag)) found.set(`lag.${name}`, lagWords(group));
  if (spanningTree !== undefined)
    found.set("spanning-tree", `${spanningTree.mode}${spanningTree.priority === undefined ? "" : ` priority ${spanningTree.priority}`}`);
  if (mirror !== undefined) found.set("mirror", `${mirror.from.join(", ")} to ${mirror.to}`);
  return found;
}

function lagWords({ members, lacp, ...port }: Lag): string {
  return `${members.join(", ")} lacp ${lacp ?? "active"}, ${portWords(port)}`;
}
