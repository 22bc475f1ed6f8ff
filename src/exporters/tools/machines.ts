import type { LabNode } from "../../intent/lab/lab.ts";

/** The names that other tools have for the software of a template of virtual machines (templates/vm). Absent: the tool has no name for it. */
interface Machine {
  /** Format of its interface names (base/names/interface-names.ts). */
  readonly format: string;
  /** A kind of containerlab, which runs an image of vrnetlab. */
  readonly containerlab?: string;
  /** A template of EVE-NG and PNETLab. */
  readonly eve?: string;
  /** A node definition of Cisco Modeling Labs. */
  readonly cml?: string;
  /** A usual name of its disk, by which GNS3's users and imports find the software. */
  readonly disk: string;
  /** The model of its interfaces. Default: e1000. */
  readonly nic?: string;
}

const virtio = "virtio-net-pci";

const machines: Readonly<Record<string, Machine>> = {
  vios: {
    format: "Gi0/{0}|GigabitEthernet0/{0}|eth{0}",
    containerlab: "cisco_vios",
    eve: "vios",
    cml: "iosv",
    disk: "vios-adventerprisek9-m.qcow2",
  },
  viosl2: {
    format: "Gi{0}/{0-4}|GigabitEthernet{0}/{0-4}|eth{0}",
    containerlab: "cisco_viosl2",
    eve: "viosl2",
    cml: "iosvl2",
    disk: "vios_l2-adventerprisek9-m.qcow2",
  },
  csr1000v: {
    format: "Gi{1}|GigabitEthernet{1}|eth{0}",
    containerlab: "cisco_csr1000v",
    eve: "csr1000vng",
    cml: "csr1000v",
    disk: "csr1000v-universalk9.qcow2",
    nic: virtio,
  },
  c8000v: {
    format: "Gi{1}|GigabitEthernet{1}|eth{0}",
    containerlab: "cisco_c8000v",
    eve: "c8000v",
    cml: "cat8000v",
    disk: "c8000v-universalk9.qcow2",
    nic: virtio,
  },
  cat9kv: {
    format: "Gi0/0,Gi1/0/{1}|GigabitEthernet0/0,GigabitEthernet1/0/{1}|eth{0}",
    containerlab: "cisco_cat9kv",
    eve: "cat9kv",
    cml: "cat9000v-q200",
    disk: "cat9kv.qcow2",
    nic: virtio,
  },
  xrv: {
    format: "MgmtEth0/0/CPU0/0,Gi0/0/0/{0}|MgmtEth0/0/CPU0/0,GigabitEthernet0/0/0/{0}|eth{0}",
    containerlab: "cisco_xrv",
    eve: "xrv",
    cml: "iosxrv",
    disk: "iosxrv-k9-demo.qcow2",
  },
  xrv9k: {
    format: "MgmtEth0/RP0/CPU0/0,CtrlEth,DevEth,Gi0/0/0/{0}|MgmtEth0/RP0/CPU0/0,CtrlEth,DevEth,GigabitEthernet0/0/0/{0}",
    containerlab: "cisco_xrv9k",
    eve: "xrv9k",
    cml: "iosxrv9000",
    disk: "xrv9k-fullk9.qcow2",
  },
  nxosv: { format: "mgmt0,Ethernet2/{1}|mgmt0,Eth2/{1}|eth{0}", eve: "titanium", cml: "nxosv", disk: "titanium.qcow2" },
  nxosv9k: {
    format: "mgmt0,Ethernet1/{1}|mgmt0,Eth1/{1}|eth{0}",
    containerlab: "cisco_n9kv",
    eve: "nxosv9k",
    cml: "nxosv9000",
    disk: "nexus9300v.qcow2",
  },
  asav: {
    format: "Management0/0,GigabitEthernet0/{0}|Mgmt0/0,Gi0/{0}|eth{0}",
    containerlab: "cisco_asav",
    eve: "asav",
    cml: "asav",
    disk: "asav.qcow2",
  },
  veos: { format: "Management1,Ethernet{1}|Ma1,Et{1}|eth{0}", containerlab: "arista_veos", eve: "veos", disk: "vEOS-lab.vmdk" },
  vsrx: { format: "fxp0,ge-0/0/{0}|eth{0}", containerlab: "juniper_vsrx", eve: "vsrxng", disk: "junos-vsrx3.qcow2", nic: virtio },
  "vjunos-router": {
    format: "fxp0,ge-0/0/{0}|fxp0,xe-0/0/{0}|fxp0,et-0/0/{0}|eth{0}",
    containerlab: "juniper_vjunosrouter",
    eve: "vjunosrouter",
    disk: "vJunos-router.qcow2",
    nic: virtio,
  },
  "vjunos-switch": {
    format: "fxp0,ge-0/0/{0}|fxp0,xe-0/0/{0}|fxp0,et-0/0/{0}|eth{0}",
    containerlab: "juniper_vjunosswitch",
    eve: "vjunosswitch",
    disk: "vJunos-switch.qcow2",
    nic: virtio,
  },
  "vmx-vcp": { format: "fxp0,em{1}|eth{0}", eve: "vmxvcp", disk: "junos-vmx-x86-64.qcow2", nic: virtio },
  "vmx-vfp": { format: "ext,int,ge-0/0/{0}|ext,int,xe-0/0/{0}", eve: "vmxvfp", disk: "vFPC.img", nic: virtio },
  "vqfx-re": { format: "em0,em1,em2,xe-0/0/{0}|em0,em1,em2,ge-0/0/{0}", eve: "vqfxre", disk: "vqfx-re.qcow2" },
  "vqfx-pfe": { format: "ext,int{0}", eve: "vqfxpfe", disk: "vqfx-pfe.qcow2" },
  sros: { format: "A/1,1/1/c{1}/1|A/1,1/1/{1}|eth{0}", containerlab: "nokia_sros", eve: "timos", disk: "sros-vm.qcow2", nic: virtio },
  chr: { format: "ether{1}|eth{0}", containerlab: "mikrotik_ros", eve: "mikrotik", disk: "chr.img", nic: virtio },
  arubacx: { format: "mgmt,1/1/{1}|eth{0}", containerlab: "aruba_aoscx", eve: "arubacx", disk: "arubaoscx.qcow2" },
  fortigate: { format: "port{1}|eth{0}", containerlab: "fortinet_fortigate", eve: "fortinet", disk: "fortios.qcow2", nic: virtio },
  pan: {
    format: "mgmt,ethernet1/{1}|mgmt,Ethernet1/{1}|eth{0}",
    containerlab: "paloalto_panos",
    eve: "paloalto",
    disk: "PA-VM-KVM.qcow2",
    nic: virtio,
  },
  openwrt: { format: "eth{0}", containerlab: "openwrt", eve: "openwrt", disk: "openwrt-x86-64.img", nic: virtio },
  "freebsd-vm": { format: "vtnet{0}|eth{0}", containerlab: "freebsd", disk: "FreeBSD-amd64.qcow2", nic: virtio },
  vyos: { format: "eth{0}", eve: "vyos", disk: "vyos.qcow2", nic: virtio },
  opnsense: { format: "vtnet{0}|eth{0}|em{0}", eve: "opnsense", disk: "OPNsense-nano-amd64.img", nic: virtio },
  pfsense: { format: "vtnet{0}|eth{0}|em{0}", eve: "pfsense", disk: "pfSense-CE-memstick-serial.img", nic: virtio },
  cumulus: { format: "eth0,swp{1}|eth{0}", eve: "cumulus", disk: "cumulus-linux-vx-amd64-qemu.qcow2", nic: virtio },
  debian: { format: "eth{0}", eve: "linux", disk: "debian.qcow2", nic: virtio },
  ubuntu: { format: "eth{0}", eve: "linux", cml: "ubuntu", disk: "ubuntu.img", nic: virtio },
  fedora: { format: "eth{0}", eve: "linux", disk: "Fedora-Cloud.qcow2", nic: virtio },
  "enterprise-linux": { format: "eth{0}", eve: "linux", disk: "GenericCloud.qcow2", nic: virtio },
  alpine: { format: "eth{0}", eve: "linux", cml: "alpine", disk: "alpine.qcow2", nic: virtio },
};

/** Templates of virtual machines that have names in other tools: for tests. */
export const exportedMachines: ReadonlyMap<string, Machine> = new Map(Object.entries(machines));

/** Returns the names of a node's software in other tools; undefined for nodes of other templates. */
export function machineOf({ template }: Pick<LabNode, "template">): Machine | undefined {
  return Object.hasOwn(machines, template) ? machines[template] : undefined;
}
