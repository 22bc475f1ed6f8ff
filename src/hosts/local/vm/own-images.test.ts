import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findVmImages } from "../images/vm-images.ts";
import { parseArguments } from "../templates/extra-arguments.ts";
import { eventually, labOf, testLocalHost } from "../testing/test-local-host.fixture.ts";

const qcow2 = Buffer.concat([Buffer.from([0x51, 0x46, 0x49, 0xfb]), Buffer.alloc(508)]);

describe("the directory of virtual machines' images", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "labwright-vm-images-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  async function image(name: string, files: Readonly<Record<string, string | Buffer>>): Promise<void> {
    await mkdir(join(directory, name));
    await chmod(join(directory, name), 0o755);
    for (const [file, data] of Object.entries(files)) {
      await writeFile(join(directory, name, file), data);
      await chmod(join(directory, name, file), 0o644);
    }
  }

  test("gives an image for each directory; what a disk is its bytes say, not its name", async () => {
    await image("router-1.2", { "disk2.raw": "data", "disk10.img": qcow2, "disk1.qcow2": qcow2, "setup.iso": "cd" });
    await image("direct", { vmlinuz: "kernel", "image.yaml": "description: a kernel\nkernel: vmlinuz\ncommand-line: console=ttyS0\n" });
    const { images, problems } = await findVmImages(directory);
    expect(problems).toEqual([]);
    expect(images.map(({ name, description }) => [name, description])).toEqual([
      ["direct", "a kernel"],
      ["router-1.2", ""],
    ]);
    expect(images[0]?.vm).toEqual({ disks: [], cdroms: [], kernel: "vmlinuz", commandLine: "console=ttyS0" });
    expect(images[1]?.vm).toEqual({
      disks: [
        { file: "disk1.qcow2", format: "qcow2" },
        { file: "disk2.raw", format: "raw" },
        { file: "disk10.img", format: "qcow2" },
      ],
      cdroms: ["setup.iso"],
    });
  });

  test("reports the problem of each invalid image, and returns the others", async () => {
    await image("good", { "disk.raw": "x" });
    await image("empty", {});
    await image("words", { "disk.raw": "x", "image.yaml": "kernal: vmlinuz\n" });
    await image("nokernel", { "disk.raw": "x", "image.yaml": "kernel: vmlinuz\n" });
    await image("deep", { "disk.raw": "x" });
    await mkdir(join(directory, "deep", "usr"));
    const { images, problems } = await findVmImages(directory);
    expect(images.map(({ name }) => name)).toEqual(["good"]);
    expect(problems.map((text) => text.slice(directory.length + 1))).toEqual([
      "deep is not an image of a virtual machine: usr is not a file",
      "empty is not an image of a virtual machine: it has no .qcow2, .raw, .img or .iso file",
      "nokernel is not an image of a virtual machine: image.yaml: there is no file vmlinuz",
      "words is not an image of a virtual machine: image.yaml: kernal is none of description, template, kernel, initrd, command-line, added, from",
    ]);
    expect(await findVmImages(join(directory, "none"))).toEqual({ images: [], problems: [] });
  });

  test.runIf(process.getuid?.() === 0)("names files that nodes may not read", async () => {
    await image("closed", { "disk.raw": "x" });
    await chmod(join(directory, "closed", "disk.raw"), 0o600);
    expect((await findVmImages(directory)).problems.join()).toContain("nodes may not read disk.raw: chmod 644 it");
  });
});

describe("arguments that a node may bring", () => {
  test("are those of a list, with values of a shape", () => {
    expect(parseArguments("")).toEqual({ argv: [] });
    expect(parseArguments('-usb --device usb-tablet -smbios "type=1,product=Big Router"')).toEqual({
      argv: ["-usb", "-device", "usb-tablet", "-smbios", "type=1,product=Big Router"],
    });
  });

  test("may have ids of their own, and as many PCI devices as a slot has room for", () => {
    const most =
      "-usb -device qemu-xhci,id=x -device virtio-rng-pci,id=nic -device virtio-rng-pci,id=disk -device i6300esb -device virtio-balloon-pci -device piix3-usb-uhci";
    expect(parseArguments(most)).not.toHaveProperty("problem");
  });

  test.each([
    "-drive file=/etc/passwd",
    "-netdev user,id=n",
    "-device virtio-blk-pci,drive=disk0",
    "-device vfio-pci,host=00:01.0",
    "-smbios type=1,file=/etc/passwd",
    "-rtc",
    "-drive if=virtio,file=/etc/passwd",
    "-hda /etc/passwd",
    "-kernel /vm",
    "-readconfig /vm",
    "-object memory-backend-file,id=m,mem-path=/vm,size=1M",
    "-chardev file,id=c,path=/vm/state",
    "-serial file:/vm/state",
    "-qmp tcp::4444,server",
    "-incoming exec:id",
    "-S",
    "-daemonize",
    "-runas root",
    "-sandbox off",
    "-device virtio-rng-pci,rng=r",
    "-device virtio-rng-pci,addr=8",
    "-device usb-storage,drive=disk0",
    "-device usb-host,hostbus=1",
    "-device usb-tablet,id=nic0",
    "-device usb-tablet,id=disk1",
    "-device usb-tablet,id=serial",
    "-device virtio-rng-pci -device virtio-rng-pci -device virtio-rng-pci -device virtio-rng-pci -usb -device qemu-xhci -device i6300esb -device i6300esb",
    "-uuid 00000000-0000-0000-0000-000000000000,file=x",
    "-global virtio-blk-pci.drive=/etc/passwd",
    "-global e1000.romfile=/vm/state",
    "-smbios type=1,serial=a,file=/etc/passwd",
    '-smbios "type=1,serial=a\nb"',
    '-smbios "type=1,serial=a\narg -monitor"',
    '-smbios "type=1,serial=a\0b"',
    "-rtc base=utc,script=/vm",
    "-boot order=c\n-monitor stdio",
    "-usb\narg -monitor\narg stdio",
    "-watchdog-action poweroff,x",
    "constructor",
    "__proto__",
    "-usb -- -monitor",
    "-boot order=c,splash=/etc/passwd",
    "-monitor stdio",
    '-smbios "type=1',
    "/etc/passwd",
    "-global driver=x,property=y,value=z",
  ])("%s is refused", (text) => {
    expect(parseArguments(text)).toHaveProperty("problem");
  });
});

describe.runIf(process.getuid?.() === 0)("a machine of one's own image", () => {
  test("has the disk bus, interfaces and screen that it asks for, whatever the guest does", async () => {
    await using local = await testLocalHost();
    const home = join(local.paths.vmImages, "blank");
    await mkdir(home);
    for (const file of ["disk1.raw", "disk2.raw", "disk3.raw", "setup.iso"]) {
      await writeFile(join(home, file), Buffer.alloc(1 << 20));
      await chmod(join(home, file), 0o644);
    }
    await chmod(home, 0o755);
    const machines = {
      m1: "q35, nic: e1000e, disk-bus: sata",
      m2: "pc, nic: rtl8139, disk-bus: scsi",
      m3: "q35, nic: vmxnet3, disk-bus: ide",
      m4: "pc, nic: virtio-net-pci, disk-bus: virtio",
    };
    const arguments_ = "-usb -device usb-tablet -device virtio-rng-pci -device virtio-balloon-pci -device i6300esb -device qemu-xhci";
    const nodes = Object.entries(machines).map(
      ([name, words]) =>
        `  ${name}: {template: qemu, image: blank, ram: 32, startup-config: "#cloud-config\\nhostname: mine\\n", ssh-keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOqJ02XhCEMnTapl6dCbbHQVEoT8ODpOQ3xbZTMeaEIQ ann"], attributes: {machine: ${words}, video: std, arguments: ${arguments_}}}`,
    );
    const yaml = `name: own\nnodes:\n${nodes.join("\n")}\nlinks: [["m1:eth0", "m2:eth0"], ["m2:eth1", "m3:eth0"], ["m3:eth22", "m4:eth22"], ["m1:eth21", "m4:eth0"]]\n`;
    // The catalogue reads the directory again after a while.
    await eventually(
      "the image is there",
      30_000,
      () => local.session.templates(),
      (all) => all.some(({ images }) => images.some(({ name }) => name === "blank")),
    );
    await local.deploy("/own", labOf(yaml));
    const { nodes: live } = await eventually(
      "all have left starting behind",
      60_000,
      () => local.session.status("/own"),
      ({ nodes }) => nodes.every(({ status }) => status !== "starting"),
    );
    expect(live.map(({ status }) => status)).toEqual(["running", "running", "running", "running"]);
    for (const { id } of live) {
      const address = (await local.session.screens!("/own")).get(id) ?? "";
      expect(address).toMatch(/^unix:\//);
      // The greeting of a VNC server, which comes after the supervisor has created the disks.
      await eventually(
        `the screen of ${id}`,
        60_000,
        () => greeting(address.slice("unix:".length)),
        (said) => said.startsWith("RFB 003."),
      );
    }
    // cloud-init looks for a file system of this label with these files.
    const { id: labId } = (await local.session.observe("/own"))!;
    const drive = await readFile(join(local.paths.state, "labs", labId, "nodes", live[0]!.id, "upper", "vm", "config.iso"));
    expect(drive.toString("latin1", 16 * 2048 + 40, 16 * 2048 + 72).trimEnd()).toBe("cidata");
    const inside = drive.toString("latin1");
    for (const text of [
      "user-data",
      "meta-data",
      `instance-id: ${labId}-${live[0]!.id}\nlocal-hostname: m1\npublic-keys:\n  - "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOqJ02XhCEMnTapl6dCbbHQVEoT8ODpOQ3xbZTMeaEIQ ann"\n`,
      "#cloud-config\nhostname: mine\n",
    ])
      expect(inside).toContain(text);
    // The hypervisor printed no warning.
    const sandbox = await local.sandbox("/own");
    for (const { id } of live) expect(await sandbox.tail(Number(id))).toBe("");
    expect((await local.session.status("/own")).nodes.map(({ status }) => status)).toEqual(["running", "running", "running", "running"]);
    expect(local.warnings.filter((warning) => !/^nodes have no limit/.test(warning))).toEqual([]);
  }, 300_000);
});

function greeting(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("data", (bytes) => {
      resolve(bytes.toString());
      socket.destroy();
    });
    socket.once("error", (error) => resolve(error.message)).once("close", () => resolve(""));
  });
}
