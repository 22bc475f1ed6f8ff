import { type KernelFeature, kernelFeatures } from "../../../engine/model/kernel-features.ts";
import { probeMachine } from "../machine/probe-machine.ts";

/** Tries each feature in a net namespace of its own, and prints the names of those that fail. The kernel loads modules that it finds. */
export const kernelFeatureScript = `
try() { name=$1; shift; "$@" > /dev/null 2>&1 || echo "$name"; }
ip link add p0 type veth peer name p1 || exit
try vrf ip link add t0 type vrf table 10
[ -e /proc/sys/net/mpls/platform_labels ] || modprobe mpls_router 2> /dev/null
try mpls test -e /proc/sys/net/mpls/platform_labels
try vlan ip link add link p0 name t1 type vlan id 10
try vxlan ip link add t2 type vxlan id 10 dstport 4789
try bonding ip link add t3 type bond
try macsec ip link add link p0 name t4 type macsec
try wireguard ip link add t5 type wireguard
try netem tc qdisc add dev p0 root netem delay 1ms
try vlan-filter ip link add t6 type bridge vlan_filtering 1
`;

/** Returns the features that nodes with this machine's kernel do not have. None if they cannot be tried. */
export async function missingKernelFeatures(): Promise<readonly KernelFeature[]> {
  const user = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const { code, stdout } = await probeMachine(["unshare", ...user, "--net", "sh", "-c", kernelFeatureScript]);
  if (code !== 0) return [];
  const failed = new Set(stdout.split("\n"));
  return (Object.keys(kernelFeatures) as KernelFeature[]).filter((name) => failed.has(name));
}
