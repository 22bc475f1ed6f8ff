import { nodeKey } from "../../base/node-key.ts";
import type { ResultOf } from "../../client/index.ts";
import { type Command, labFlag, nodeFlag, topoFlag } from "../command/command.ts";
import { type InventoryFormat, inventoryFormats, inventoryText, isReachable, sshFormats } from "../inventory/formats.ts";
import { askedService, type InventoryNode, inventoryNodes } from "../inventory/inventory-node.ts";
import { namedNodes } from "../parts/named-nodes.ts";
import { identityFlag, sshMeans } from "../reach/ssh-options.ts";

export const inventory: Command = {
  name: "inventory",
  summary: "Print the running nodes as an inventory of Ansible, Nornir, pyATS, SSH or Prometheus",
  details:
    "ansible, nornir, pyats and ssh-config lead to the address of a node with ssh-keys in the management network, or to its SSH port if it is published\n" +
    '(ports: ["2201:22"]), otherwise through labwright ssh, which needs neither a port nor an address. nornir needs ssh-config too. hosts has the addresses in the\n' +
    "management network, otherwise those inside the lab, as lines of /etc/hosts; prometheus has all other published ports, for file_sd_configs. The texts contain the path of this program: print them on the machine that uses them.",
  flags: [
    topoFlag,
    labFlag,
    nodeFlag,
    identityFlag,
    { long: "format", short: "o", value: "FORMAT", choices: inventoryFormats, summary: "The tool that reads it; default: ansible" },
  ],
  example: "labwright inventory --format ssh-config",
  run: async (context, args) => {
    const { selector } = await context.project();
    const client = await context.client();
    const format = (args.text("format") ?? "ansible") as InventoryFormat;
    const [data, asked] = await Promise.all([client.inspectProject({ ...selector, ...namedNodes(args) }), askedService(client)]);
    const nodes = inventoryNodes(data, asked);
    const { terminal } = context;
    const { features } = await client.getCapabilities();
    const means = sshMeans(data.lab, args, features?.["nodeExec"] === true);
    const silent = nodes.filter((node) => !isReachable(node, means)).map(({ name }) => name);
    if (sshFormats.has(format) && silent.length > 0) terminal.note(`left out, SSH does not reach them: ${namesText(silent)}`);
    const remote = withRemotePorts(data, nodes);
    if (remote.length > 0) terminal.note(`left out, ports on other machines than the one that answers: ${namesText(remote)}`);
    if (!asked.isHere && format !== "hosts" && nodes.some(({ ports }) => ports.some(({ address }) => address === "127.0.0.1")))
      terminal.note(`ports of 127.0.0.1 are reached on ${asked.address}, the machine of the service`);
    terminal.stdout.write(inventoryText(format, nodes, means));
    return 0;
  },
};

/** Returns the nodes whose published ports are on another machine of the fleet, with that machine. */
function withRemotePorts(data: ResultOf<"inspectProject">, nodes: readonly InventoryNode[]): readonly string[] {
  const published = new Set(data.nodes.filter(({ ports = [] }) => ports.length > 0).map((node) => nodeKey(node)));
  return nodes.flatMap(({ name, elsewhere }) => (elsewhere !== undefined && published.has(name) ? [`${name} (${elsewhere})`] : []));
}

function namesText(names: readonly string[]): string {
  return `${names.slice(0, 8).join(", ")}${names.length > 8 ? " …" : ""}`;
}
