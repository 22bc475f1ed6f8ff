import { vxlanPort } from "../../../intent/lab/lab.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import { defaultMtu } from "../links/fabric.ts";

/** A network's tunnel to the network with the same VNI on another machine. */
export interface Tunnel {
  /** Id of the network in its lab. */
  readonly network: number;
  readonly remote: string;
  readonly vni: number;
  readonly port: number;
  /** The largest of the network's links. */
  readonly mtu: number;
  /** It is half of a link between machines of a fleet. */
  readonly isWire?: true;
}

/** Returns the name of a tunnel's device in the fabric; it is a port of the network's bridge. */
export function tunnelDevice(network: number): string {
  return `v${network}`;
}

export function wantedTunnels({ networks, links }: Pick<LabDefinition, "networks" | "links">): readonly Tunnel[] {
  const mtus = new Map<number, number>();
  for (const { endpoints, mtu = defaultMtu } of links)
    for (const end of endpoints) if ("network" in end) mtus.set(end.network, Math.max(mtu, mtus.get(end.network) ?? 0));
  return networks.flatMap(({ id, vxlan }) =>
    vxlan === undefined
      ? []
      : [
          {
            network: id,
            remote: vxlan.remote,
            vni: vxlan.vni,
            port: vxlan.port ?? vxlanPort,
            mtu: vxlan.cut?.mtu ?? mtus.get(id) ?? defaultMtu,
            ...(vxlan.cut !== undefined && { isWire: true as const }),
          },
        ],
  );
}
