import type { ResultOf } from "../../client/index.ts";
import { type Command, labFlag, nodeFlag, topoFlag } from "../command/command.ts";
import { namedNodes } from "../parts/named-nodes.ts";
import { table } from "../show/table.ts";

export const switches: Command = {
  name: "switches",
  summary: "Show the VLAN-aware switches of a lab: ports, VLANs, LACP, spanning tree, learned addresses",
  details: "A port that somebody changed by hand, so that it is not as the lab declares it, is marked with *.",
  flags: [topoFlag, labFlag, nodeFlag],
  example: "labwright switches -t labs/vlan-trunk.yaml --node sw1",
  run: async (context, args) => {
    const { selector } = await context.project();
    const data = await (await context.client()).listSwitches({ ...selector, ...namedNodes(args) });
    if (data.switches.length === 0) context.terminal.note(`${data.lab} has no VLAN-aware switches`);
    if (context.json || data.switches.length > 0) context.result(data, showSwitches);
    return 0;
  },
};

type Switches = ResultOf<"listSwitches">;
type Port = Switches["switches"][number]["ports"][number];

/** Returns the ports, spanning trees and addresses of switches as tables. */
export function showSwitches({ switches }: Switches): string {
  const ports = switches.flatMap(({ node, running, ports: all }) =>
    running
      ? all.map((port) => [`${node}:${port.port}`, vlanText(port), membersText(port), lacpText(port), treeText(port)])
      : [[node, "not running", "", "", ""]],
  );
  const trees = switches.flatMap(({ node, spanning_tree: tree }) =>
    tree === undefined ? [] : [[node, tree.mode, tree.bridge, tree.is_root ? "itself" : tree.root]],
  );
  const addresses = switches.flatMap(({ node, addresses: all, more_addresses: more }) => [
    ...all.map(({ mac, vlan, port, age }) => [`${node}:${port}`, String(vlan), mac, `${age} s`]),
    ...(more === 0 ? [] : [[node, "", `and ${more} more`, ""]]),
  ]);
  return [
    table(["PORT", "VLANS", "LINKS", "LACP", "SPANNING TREE"], ports),
    ...(trees.length === 0 ? [] : [table(["SWITCH", "PROTOCOL", "BRIDGE", "ROOT"], trees)]),
    ...(addresses.length === 0 ? [] : [table(["LEARNED AT", "VLAN", "ADDRESS", "AGE"], addresses)]),
  ].join("\n\n");
}

function vlanText({ mode, vlan, vlans, differs }: Port): string {
  const text =
    mode === "access" ? `access ${vlan ?? ""}` : `trunk ${vlans?.join(",") ?? "all"}${vlan === undefined ? "" : ` native ${vlan}`}`;
  return differs ? `${text} *` : text;
}

function membersText({ interfaces }: Port): string {
  return interfaces.map(({ interface: name, up }) => `${name} ${up ? "up" : "down"}`).join(", ");
}

function lacpText({ lacp, interfaces }: Port): string {
  if (lacp === undefined || lacp === "off") return lacp ?? "";
  return `${lacp}, ${interfaces.filter((one) => one.lacp_current === true).length} of ${interfaces.length} joined`;
}

function treeText({ role, state }: Port): string {
  return [role, state].filter((word) => word !== undefined).join(" ");
}
