import { ipv4Network, ipv4Number } from "../../intent/addresses/ipv4.ts";
import type { Vxlan } from "../../intent/lab/lab.ts";
import { vxlanOverhead, vxlanPort } from "../../intent/lab/lab.ts";
import type { TunnelRules } from "../model/plan.ts";

/** Returns why the host can have no such tunnel, and what to write instead; `undefined` if it can. */
export function tunnelProblem(
  { remote, vni, port = vxlanPort }: Vxlan,
  rules: TunnelRules,
): { readonly text: string; readonly field: string } | undefined {
  const refuse = (what: string, allowed: string) => ({
    text: `${what}: its administrator allows ${allowed}. Write one of these, or ask for another setting`,
    field: "vxlan",
  });
  if (!rules.remotes.some((network) => isIn(remote, network)))
    return refuse(`the host makes no tunnel to ${remote}`, `tunnels to ${rules.remotes.join(", ")}`);
  const { first, last } = rules.vnis;
  if (vni < first || vni > last) return refuse(`the host makes no tunnel with VNI ${vni}`, `the VNIs ${first} to ${last}`);
  return port === rules.port ? undefined : refuse(`the host makes no tunnel at port ${port}`, `port ${rules.port}`);
}

/** Returns why frames of a link do not fit into the tunnel; `undefined` if they do. */
export function tunnelMtuProblem(mtu = 1500, rules: TunnelRules | undefined): string | undefined {
  if (rules === undefined || mtu <= rules.mtu) return undefined;
  const total = rules.mtu + vxlanOverhead;
  return (
    `packets of ${mtu} bytes need ${mtu + vxlanOverhead} in the network between the machines, which carries ${total}: ` +
    `write mtu: ${rules.mtu} on the link, or raise the MTU between the machines`
  );
}

function isIn(address: string, text: string): boolean {
  const network = ipv4Network(text);
  const number = ipv4Number(address);
  if (network === undefined || number === undefined) return false;
  const size = 2 ** (32 - network.length);
  return Math.floor(number / size) === Math.floor(network.network / size);
}
