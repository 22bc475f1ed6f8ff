import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { interfaceNames, interfaceNaming } from "../../../../base/names/interface-names.ts";
import type { VmImage } from "../../images/vm-images.ts";
import { builtinTemplates, loadTemplates } from "../../templates/reading/templates.ts";
import { templateForFile } from "../../templates/software.ts";
import { vmOf } from "../../templates/vm-template.ts";
import { vmConfig } from "../vm-config.ts";
import { vmSpawn } from "../vm-spawn.ts";

const { templates } = await loadTemplates([builtinTemplates]);
const image: VmImage = { disks: [{ file: "disk1.qcow2", format: "qcow2" }], cdroms: [] };

const file = "-drive file=/vm/disk0.qcow2,if=none,id=disk0,format=qcow2,discard=unmap";
const virtio = `${file} -device virtio-blk-pci,bus=pci.0,addr=4,drive=disk0,bootindex=1`;
const ide = `${file} -device ide-hd,bus=ide.0,unit=0,drive=disk0,bootindex=1`;
const sata = `-device ahci,id=sata,bus=pci.0,addr=3 ${file} -device ide-hd,bus=sata.0,drive=disk0,bootindex=1`;
const drive = "-drive file=/vm/config.iso,if=none,id=config,format=raw,readonly=on -device ide-cd,bus=ide.1,unit=0,drive=config";
const agent =
  "-chardev socket,id=agent,path=/run/vm/agent/agent.sock,server=on,wait=off " +
  "-device virtio-serial-pci,id=agentbus,bus=pci.0,addr=7,max_ports=2 " +
  "-device virtserialport,bus=agentbus.0,nr=1,chardev=agent,name=org.qemu.guest_agent.0";
const screen = "-vnc unix:/run/vm/screen/vnc.sock -device VGA,bus=pci.0,addr=2";
const uefi = "-bios /usr/share/ovmf/OVMF.fd";
const cloud = `${virtio} ${drive} ${agent}`;

/** Template, CPUs, MiB, arguments that are its own, model of its interfaces, label of its config drive, names of its first interfaces. */
const rows: readonly (readonly [string, number, number, string, string, string, string])[] = [
  ["alpine", 1, 256, cloud, "virtio-net-pci", "cidata", "eth0 eth1"],
  ["arubacx", 2, 4096, ide, "virtio-net-pci", "", "mgmt 1/1/1 1/1/2"],
  ["asav", 1, 2048, `${screen} ${virtio} ${drive}`, "e1000", "day0", "Management0/0 GigabitEthernet0/0 GigabitEthernet0/1"],
  ["c8000v", 2, 4096, `${virtio} ${drive}`, "virtio-net-pci", "config", "Gi1 Gi2"],
  ["cat9kv", 4, 18432, `${virtio} ${drive}`, "virtio-net-pci", "config", "Gi0/0 Gi1/0/1 Gi1/0/2"],
  ["chr", 1, 256, virtio, "virtio-net-pci", "", "ether1 ether2"],
  ["csr1000v", 1, 4096, `${virtio} ${drive}`, "virtio-net-pci", "config", "Gi1 Gi2"],
  ["cumulus", 2, 2048, virtio, "virtio-net-pci", "", "eth0 swp1 swp2"],
  ["debian", 1, 512, cloud, "virtio-net-pci", "cidata", "eth0 eth1"],
  ["enterprise-linux", 1, 1024, cloud, "virtio-net-pci", "cidata", "eth0 eth1"],
  ["fedora", 1, 1024, cloud, "virtio-net-pci", "cidata", "eth0 eth1"],
  ["fortigate", 1, 2048, virtio, "virtio-net-pci", "", "port1 port2"],
  ["freebsd-vm", 1, 1024, cloud, "virtio-net-pci", "cidata", "vtnet0 vtnet1"],
  ["nxosv", 2, 4096, ide, "e1000", "", "mgmt0 Ethernet2/1 Ethernet2/2"],
  ["nxosv9k", 4, 10240, `${uefi} ${sata} ${drive}`, "e1000", "config", "mgmt0 Ethernet1/1 Ethernet1/2"],
  ["openwrt", 1, 256, virtio, "virtio-net-pci", "", "eth0 eth1"],
  ["opnsense", 2, 3072, virtio, "virtio-net-pci", "", "vtnet0 vtnet1"],
  ["pan", 2, 6656, virtio, "virtio-net-pci", "", "mgmt ethernet1/1 ethernet1/2"],
  ["pfsense", 1, 2048, virtio, "virtio-net-pci", "", "vtnet0 vtnet1"],
  [
    "sros",
    2,
    6144,
    `${ide} -smbios type=1,product=TIMOS:slot=A chassis=SR-1 card=cpm-1 mda/1=me12-100gb-qsfp28`,
    "virtio-net-pci",
    "",
    "A/1 1/1/c1/1 1/1/c2/1",
  ],
  ["ubuntu", 1, 1024, cloud, "virtio-net-pci", "cidata", "eth0 eth1"],
  ["veos", 2, 4096, ide, "e1000", "", "Management1 Ethernet1 Ethernet2"],
  ["vios", 1, 512, virtio, "e1000", "", "Gi0/0 Gi0/1"],
  ["viosl2", 1, 768, virtio, "e1000", "", "Gi0/0 Gi0/1 Gi0/2 Gi0/3 Gi1/0"],
  ["vjunos-router", 4, 5120, `${virtio} -smbios type=1,product=VM-VMX,family=lab`, "virtio-net-pci", "", "fxp0 ge-0/0/0 ge-0/0/1"],
  ["vjunos-switch", 4, 5120, `${virtio} -smbios type=1,product=VM-VEX`, "virtio-net-pci", "", "fxp0 ge-0/0/0 ge-0/0/1"],
  [
    "vmx-vcp",
    1,
    2048,
    `${ide} -smbios type=0,vendor=Juniper -smbios type=1,manufacturer=VMX,product=VM-vcp_vmx2-161-re-0,version=0.1.0`,
    "virtio-net-pci",
    "",
    "fxp0 em1",
  ],
  ["vmx-vfp", 3, 4096, ide, "virtio-net-pci", "", "ext int ge-0/0/0 ge-0/0/1"],
  ["vqfx-pfe", 1, 2048, ide, "e1000", "", "ext int0"],
  ["vqfx-re", 1, 1024, ide, "e1000", "", "em0 em1 em2 xe-0/0/0"],
  ["vsrx", 2, 4096, `${virtio} ${drive}`, "virtio-net-pci", "config", "fxp0 ge-0/0/0 ge-0/0/1"],
  ["vyos", 2, 2048, cloud, "virtio-net-pci", "cidata", "eth0 eth1"],
  ["xrv", 1, 3072, `${ide} ${drive}`, "e1000", "config", "MgmtEth0/0/CPU0/0 Gi0/0/0/0 Gi0/0/0/1"],
  ["xrv9k", 4, 20480, `${virtio} ${drive}`, "virtio-net-pci", "config", "MgmtEth0/RP0/CPU0/0 CtrlEth DevEth Gi0/0/0/0"],
];

describe("the templates of software", () => {
  test("are all in the table below, name the files of their software and have everything else from qemu", () => {
    const own = templates.filter((template) => template.extends === "qemu");
    expect(own.map(({ id }) => id).sort()).toEqual(rows.map(([id]) => id).sort());
    for (const { id, software } of own) expect(software, id).toBeDefined();
  });

  test("are in the table of docs/vm.md", async () => {
    const docs = await readFile(new URL("../../../../../docs/vm.md", import.meta.url), "utf8");
    const table = docs.split("\n").filter((line) => /^\| `[a-z0-9-]+` \| [^|]+: [^|]+ \| `[^`|]+` \| \d/.test(line));
    const wanted = templates.flatMap(({ id, software, vm, ethFormat, maxInterfaces, startupConfig }) => {
      if (software === undefined || vm === undefined) return [];
      const names = interfaceNames(ethFormat, maxInterfaces);
      const [config = "–"] = startupConfig ? Object.keys(vm.configDrive?.files ?? {}) : [];
      const cells = [
        `\`${id}\``,
        `${software.name}: ${software.source}`,
        `\`${software.files[0]}\``,
        `${vm.cpu}, ${vm.ram}`,
        `${names.slice(0, 2).join(", ")}${names.length > 2 ? " …" : ""} (${vm.nic})`,
        config,
        software.license ?? "free",
      ];
      return [`| ${cells.join(" | ")} |`];
    });
    expect(table).toEqual(wanted);
  });

  test.each(rows)("%s starts the hypervisor with its arguments", (id, cpu, ram, own, nic, label, names) => {
    const template = templates.find((one) => one.id === id)!;
    const lines = vmConfig(vmOf(template, { name: "n", attributes: {} }), image, true)
      .trimEnd()
      .split("\n");
    const argv = lines.filter((line) => line.startsWith("arg ")).map((line) => line.slice(4));
    expect(argv.join(" ")).toBe(
      `/usr/bin/qemu-system-x86_64 -nodefaults -no-user-config -machine pc,accel=kvm -cpu host -smp ${cpu} -m ${ram} ` +
        `-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny -display none ${own}`,
    );
    expect(lines.find((line) => line.startsWith("nic "))).toBe(`nic ${nic} pci.0`);
    expect(lines.find((line) => line.startsWith("drive ")) ?? "drive ").toBe(`drive ${label}`);
    expect(lines.some((line) => line.startsWith("ready "))).toBe(true);
    const wanted = names.split(" ");
    expect(interfaceNames(template.ethFormat, wanted.length)).toEqual(wanted);
  });

  test("a vEOS boots from its Aboot CD; other machines boot from their disk first", () => {
    const bootOrder = (id: string) => {
      const template = templates.find((one) => one.id === id)!;
      const settings = vmConfig(vmOf(template, { name: "n", attributes: {} }), { ...image, cdroms: ["cdrom.iso"] }, true);
      return [...settings.matchAll(/drive=(\w+),bootindex=(\d+)/g)]
        .toSorted(([, , a], [, , b]) => Number(a) - Number(b))
        .map(([, name]) => name);
    };
    expect(bootOrder("veos")).toEqual(["cdrom", "disk0"]);
    expect(bootOrder("vyos")).toEqual(["disk0", "cdrom"]);
  });

  test("a machine with UEFI needs a hypervisor that has it", async () => {
    const template = templates.find((one) => one.id === "nxosv9k")!;
    const home = await mkdtemp(join(tmpdir(), "labwright-uefi-"));
    try {
      const hypervisor = { name: "qemu", description: "", rootfs: home, layers: [home], size: 0, modified: "", digest: "" };
      const node = { id: 1, name: "n1", exec: [], attributes: {} };
      const spawn = () => vmSpawn("lab", node, { hostname: "n1", disk: "/d" }, template, { ...hypervisor, vm: image }, hypervisor, true);
      expect(spawn).toThrow("node n1: the hypervisor on this host has no UEFI firmware: labwright setup builds it again");
      await mkdir(join(home, "usr/share/ovmf"), { recursive: true });
      await writeFile(join(home, "usr/share/ovmf/OVMF.fd"), "");
      expect(spawn().files.find(({ path }) => path === "/etc/labwright/vm")?.text).toContain("arg -bios\narg /usr/share/ovmf/OVMF.fd\n");
    } finally {
      await rm(home, { recursive: true });
    }
  });

  test.each([
    ["vios", "GigabitEthernet0/1", 1],
    ["vios", "eth1", 1],
    ["viosl2", "gigabitethernet1/0", 4],
    ["xrv9k", "GigabitEthernet0/0/0/0", 3],
    ["xrv9k", "eth1", undefined],
    ["veos", "Et3", 3],
    ["vsrx", "ge-0/0/2", 3],
    ["sros", "1/1/2", 2],
    ["cumulus", "eth1", 1],
  ])("of %s call interface %s also number %s", (id, name, index) => {
    expect(interfaceNaming(templates.find((one) => one.id === id)!.ethFormat).index(name)).toBe(index);
  });

  test.each([
    ["vios-adventerprisek9-m.spa.159-3.m9.qcow2", "vios"],
    ["vios-adventerprisek9-m.vmdk.SPA.157-3.M3", "vios"],
    ["/opt/unetlab/addons/qemu/vios-adventerprisek9-m-15.9/virtioa.qcow2", "vios"],
    ["vios_l2-adventerprisek9-m.ssa.high_iron_20200929.qcow2", "viosl2"],
    ["/opt/unetlab/addons/qemu/viosl2-adventerprisek9-m-15.2/virtioa.qcow2", "viosl2"],
    ["csr1000v-universalk9.17.03.08a-serial.qcow2", "csr1000v"],
    ["csr1000vng-universalk9.17.03.04-serial/virtioa.qcow2", "csr1000v"],
    ["c8000v-universalk9_16G_serial.17.15.01a.qcow2", "c8000v"],
    ["cat9kv_prd.17.12.01.qcow2", "cat9kv"],
    ["iosxrv-k9-demo-6.3.1.qcow2", "xrv"],
    ["xrv-k9-6.0.1/hda.qcow2", "xrv"],
    ["xrv9k-fullk9-x-7.11.1.qcow2", "xrv9k"],
    ["titanium-final.7.3.0.d1.1.qcow2", "nxosv"],
    ["NXOSv-7.2.0.D1.1.qcow2", "nxosv"],
    ["nexus9300v64.10.4.3.F.qcow2", "nxosv9k"],
    ["nxosv-final.7.0.3.I7.9.qcow2", "nxosv9k"],
    ["nxosv9k-9.3.9/sataa.qcow2", "nxosv9k"],
    ["asav9-20-2.qcow2", "asav"],
    ["vEOS-lab-4.32.1F.vmdk", "veos"],
    ["vEOS64-lab-4.32.1F.qcow2", "veos"],
    ["veos-4.29.2F/hda.qcow2", "veos"],
    ["junos-vmx-x86-64-21.1R1.11.qcow2", "vmx-vcp"],
    ["vFPC-20210211.img", "vmx-vfp"],
    ["junos-vsrx3-x86-64-22.4R1.10.qcow2", "vsrx"],
    ["junos-media-vsrx-x86-64-vmdisk-21.3R1.9.qcow2", "vsrx"],
    ["vqfx-20.2R1.10-re-qemu.qcow2", "vqfx-re"],
    ["vqfx-20.2R1-2019010209-pfe-qemu.qcow", "vqfx-pfe"],
    ["vJunos-switch-23.2R1.14.qcow2", "vjunos-switch"],
    ["vJunos-router-23.2R1.15.qcow2", "vjunos-router"],
    ["sros-vm-23.10.R1.qcow2", "sros"],
    ["TiMOS-SR-23.3.R1-vm/virtioa.qcow2", "sros"],
    ["PA-VM-KVM-10.2.5.qcow2", "pan"],
    ["fortios-v7.4.1.qcow2", "fortigate"],
    ["fortinet-FGT-v7.2.0/virtioa.qcow2", "fortigate"],
    ["vyos-1.5-rolling-202409250007-generic-amd64.iso", "vyos"],
    ["chr-7.15.3.img", "chr"],
    ["mikrotik-7.11/hda.qcow2", "chr"],
    ["OPNsense-24.7-nano-amd64.img", "opnsense"],
    ["pfSense-CE-memstick-serial-2.7.2-RELEASE-amd64.img.gz", "pfsense"],
    ["openwrt-23.05.5-x86-64-generic-ext4-combined.img.gz", "openwrt"],
    ["cumulus-linux-5.9.1-vx-amd64-qemu.qcow2", "cumulus"],
    ["arubaoscx-disk-image-genericx86-p4-20240129204649.vmdk", "arubacx"],
    ["noble-server-cloudimg-amd64.img", "ubuntu"],
    ["ubuntu-24.04-server-cloudimg-amd64.img", "ubuntu"],
    ["debian-12-genericcloud-amd64.qcow2", "debian"],
    ["Fedora-Cloud-Base-Generic-41-1.4.x86_64.qcow2", "fedora"],
    ["Rocky-9-GenericCloud-Base.latest.x86_64.qcow2", "enterprise-linux"],
    ["nocloud_alpine-3.20.3-x86_64-bios-cloudinit-r0.qcow2", "alpine"],
    ["alpine-virt-3.20.3-x86_64.iso", "alpine"],
    ["FreeBSD-14.1-RELEASE-amd64-BASIC-CLOUDINIT-ufs.qcow2.xz", "freebsd-vm"],
    ["my-own-appliance.qcow2", undefined],
    ["disk.qcow2", undefined],
  ])("the file %s is software of %s", (path, id) => {
    expect(templateForFile(templates, "vm", path)?.id).toBe(id);
  });
});
