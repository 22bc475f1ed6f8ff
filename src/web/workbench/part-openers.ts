import { nodeKey } from "../../base/node-key.ts";
import type { InspectedLink, InspectionData } from "../../contract/schemas/observe.ts";
import { hasConsole } from "../consoles/has-console.ts";
import { shellTile } from "../consoles/shell-tile.ts";
import type { LabRoute } from "../parts/route.ts";

/** Functions that open consoles and shells in the drawer, by the host's ids of nodes. Nodes without a console are ignored. */
export function consoleOpeners({ nodes }: InspectionData, go: (change: Partial<LabRoute>) => void) {
  const open = (ids: readonly string[], tileOf: (key: string) => string) => {
    const opened = nodes.filter((one) => ids.includes(one.id) && hasConsole(one));
    if (opened.length > 0) go({ drawer: "consoles", node: opened.map((one) => tileOf(nodeKey(one))).join(","), capture: undefined });
  };
  const ownKey = (key: string) => key;
  return {
    openConsole: (id: string) => open([id], ownKey),
    openShell: (id: string) => open([id], shellTile),
    /** Opens the consoles of several nodes side by side. */
    openConsoles: (ids: readonly string[]) => open(ids, ownKey),
    openShells: (ids: readonly string[]) => open(ids, shellTile),
  };
}

/** Returns the function that shows the packets of a link, by its key. */
export function packetsOf(
  capture: ((link: InspectedLink) => void) | undefined,
  { links }: InspectionData,
): ((key: string | undefined) => void) | undefined {
  if (capture === undefined) return undefined;
  return (key) => {
    const link = links.find((one) => one.key === key);
    if (link !== undefined) capture(link);
  };
}
