import type { TunnelRules } from "../../../engine/model/plan.ts";
import { vxlanOverhead, vxlanPort } from "../../../intent/lab/lab.ts";
import { runOnMachine } from "../machine/machine.ts";

/** The tunnels to other machines that the machine's administrator allows: `labwright serve --vxlan-local` and the flags beside it. */
export interface TunnelPolicy extends TunnelUnderlay {
  /** Networks of the other machines, such as 192.0.2.0/24. */
  readonly remotes: readonly string[];
  readonly vnis: { readonly first: number; readonly last: number };
  /** UDP port of this machine and of the others. Default: 4789. */
  readonly port?: number;
}

/** The network between the machines. */
export interface TunnelUnderlay {
  /** The address of this machine from which tunnels lead. */
  readonly local: string;
  /** The network namespace of the machine's that has the address. Default: that of the service. */
  readonly netns?: string;
}

/** Returns what plans need to know of the policy; `undefined` if this machine has no such address, or the service is not root. */
export async function tunnelRules(policy: TunnelPolicy | undefined): Promise<TunnelRules | undefined> {
  if (policy === undefined || process.getuid?.() !== 0) return undefined;
  const { remotes, vnis, port = vxlanPort } = policy;
  const mtu = await tunnelMtu(policy);
  return mtu === undefined ? undefined : { remotes, vnis, port, mtu };
}

/** Returns the largest MTU of links that fits into the packets of the machine's device with the address; `undefined` if no device has it. */
export async function tunnelMtu(underlay: TunnelUnderlay): Promise<number | undefined> {
  const { code, stdout } = await runOnMachine(inUnderlay(underlay, ["ip", "-j", "-4", "addr", "show"]));
  if (code !== 0) return undefined;
  const devices = JSON.parse(stdout || "[]") as { readonly mtu: number; readonly addr_info: readonly { readonly local?: string }[] }[];
  const device = devices.find(({ addr_info }) => addr_info.some((address) => address.local === underlay.local));
  return device && device.mtu - vxlanOverhead;
}

/** Returns the command, in the namespace of the machine from which tunnels lead. */
export function inUnderlay(policy: Pick<TunnelUnderlay, "netns"> | undefined, argv: readonly string[]): readonly string[] {
  const netns = policy?.netns;
  return netns === undefined ? argv : ["ip", "netns", "exec", netns, ...argv];
}
