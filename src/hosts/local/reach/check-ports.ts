import { publishedPort } from "../../../intent/lab/published-port.ts";
import type { PortProblem, PortsToCheck } from "../../host.ts";
import type { PublishedPorts } from "./published-ports.ts";

/** Returns whether only admins publish the port: it is below 1024 or on an address that is not the loopback address. */
export function isReserved(text: string): boolean {
  const port = publishedPort(text);
  return port !== undefined && (port.port < 1024 || port.address !== undefined);
}

/** Returns the refusal of a reserved port for a user without the role admin. */
export function reservedText(node: string, port: string): string {
  return `node ${node}: port ${port}: only an admin publishes ports below 1024 or on other addresses`;
}

/** The lab as it is on the host. Its reserved ports stay allowed. */
interface PublishedLab {
  readonly id: string;
  readonly owner: string;
  readonly nodes: readonly { readonly name: string; readonly ports?: readonly string[] }[];
}

/**
 * Returns the declared ports that this user may not publish, or that cannot be opened now.
 * @param before absent: the lab does not exist yet
 */
export async function checkPorts(
  published: PublishedPorts,
  { name, role }: { readonly name: string; readonly role: string },
  before: PublishedLab | undefined,
  nodes: readonly PortsToCheck[],
): Promise<readonly PortProblem[]> {
  const known = new Set(before?.nodes.flatMap((node) => (node.ports ?? []).map((port) => `${node.name} ${port}`)));
  const isRefused = (node: PortsToCheck, port: string) => role !== "admin" && isReserved(port) && !known.has(`${node.name} ${port}`);
  const refused = nodes.flatMap((node) =>
    node.ports
      .filter((port) => isRefused(node, port))
      .map((port) => ({
        key: node.key,
        port,
        problem: reservedText(node.name, port),
        hint: "choose a port from 1024 without an address, or ask an admin to deploy the lab",
      })),
  );
  const others = nodes.map((node) => ({ ...node, ports: node.ports.filter((port) => !isRefused(node, port)) }));
  return [...refused, ...(await published.check({ id: before?.id ?? "", owner: before?.owner ?? name }, others))];
}
