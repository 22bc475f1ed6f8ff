/** Parts of the Linux kernel that labs use and that many kernels do not have, with their names for people. */
export const kernelFeatures = {
  vrf: "VRF",
  mpls: "MPLS",
  vlan: "VLAN interfaces (802.1Q)",
  vxlan: "VXLAN",
  bonding: "bonding",
  macsec: "MACsec",
  wireguard: "WireGuard",
  netem: "netem",
  "vlan-filter": "VLAN filter of bridges",
} as const satisfies Record<string, string>;

export type KernelFeature = keyof typeof kernelFeatures;
