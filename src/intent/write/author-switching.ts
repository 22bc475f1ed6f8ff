import type { Switching, SwitchPort } from "../lab/switching.ts";
import type { Data } from "./write.ts";

/** Returns `switching` of a node as the YAML has it. */
export function authorSwitching(switching: Switching | undefined): Data | undefined {
  if (switching === undefined) return undefined;
  const { interfaces, lag, spanningTree, mirror } = switching;
  return {
    "spanning-tree": spanningTree && (spanningTree.priority === undefined ? spanningTree.mode : { ...spanningTree }),
    interfaces: interfaces && Object.fromEntries(Object.entries(interfaces).map(([name, port]) => [name, authorPort(port)])),
    lag:
      lag &&
      Object.fromEntries(Object.entries(lag).map(([name, { members, lacp, ...port }]) => [name, { members, lacp, ...authorPort(port) }])),
    mirror: mirror && { ...mirror },
  };
}

function authorPort({ mode, vlan, vlans, nativeVlan }: SwitchPort): { readonly [key: string]: Data | undefined } {
  return { mode, vlan, vlans, "native-vlan": nativeVlan };
}
