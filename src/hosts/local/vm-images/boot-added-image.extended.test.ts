import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pack } from "tar-stream";
import { expect, test } from "vitest";
import { execCommand } from "../../../console/dialogue/exec.ts";
import type { StopMode } from "../../../engine/model/plan.ts";
import { findImages } from "../images/images.ts";
import { builtinTemplates, loadTemplates } from "../templates/reading/templates.ts";
import { eventually, labOf, noIds, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { addVmImage } from "./add-vm-image.ts";
import { findQemuImg, runQemuImg } from "./qemu-img.ts";

const hang = 300_000;
const at = "/added";

/** As template vm, for the image that this test adds. Its interfaces have names of their own. */
const template = `id: copy
description: The machine of template vm from a disk that was added
extends: vm
images: []
interfaces: {format: "Gi0/{0}", max: 4}
software: {name: A copy, files: ["round-trip*.ova"], source: this test}
`;

test("a machine boots from a disk that came as VMDK in an OVA, keeps what it writes, and has its interfaces' names", async () => {
  await using local = await testLocalHost();
  const folder = join(local.paths.state, "templates");
  await mkdir(folder);
  await writeFile(join(folder, "copy.yaml"), template);
  const tiny = (await findImages(local.paths.images)).find(({ name }) => name === "tiny")!;
  const work = join(local.paths.state, "work");
  await mkdir(work);
  await copyFile(join(tiny.rootfs, "disk.raw"), join(work, "disk.raw"));
  const { user: _user, ...qemuImg } = await findQemuImg(local.paths.images, join(work, "libraries"));
  const words = ["convert", "-f", "raw", "-O", "vmdk", "-o", "subformat=streamOptimized", "disk.raw", "disk.vmdk"];
  expect(await runQemuImg(qemuImg, work, words, { bytes: 1 << 30 })).toMatchObject({ code: 0 });
  const disk = await readFile(join(work, "disk.vmdk"));
  const ovf = `<Envelope><References><File ovf:href="disk.vmdk" ovf:id="f"/></References><DiskSection><Disk ovf:diskId="d" ovf:fileRef="f"/></DiskSection></Envelope>`;
  const archive = pack();
  archive.entry({ name: "round-trip.ovf" }, ovf);
  archive.entry({ name: "round-trip.mf" }, `SHA256(disk.vmdk)= ${createHash("sha256").update(disk).digest("hex")}\n`);
  archive.entry({ name: "disk.vmdk" }, disk);
  archive.finalize();
  const parts: Buffer[] = [];
  for await (const part of archive) parts.push(part as Buffer);
  await writeFile(join(work, "round-trip.ova"), Buffer.concat(parts));

  const { templates } = await loadTemplates([builtinTemplates, folder]);
  const added = await addVmImage({
    files: [join(work, "round-trip.ova")],
    directory: local.paths.vmImages,
    images: local.paths.images,
    templates,
    replace: false,
    usersOf: () => [],
    now: () => new Date(),
    say: () => undefined,
  });
  expect(added).toMatchObject({ name: "round-trip", by: "file name", template: { id: "copy" } });
  // The disk of this machine has no boot loader.
  const home = join(local.paths.vmImages, "round-trip");
  for (const file of ["vmlinuz", "initrd.gz"]) {
    await copyFile(join(tiny.rootfs, file), join(home, file));
    await chmod(join(home, file), 0o644);
  }
  const boot = (await readFile(join(tiny.rootfs, "image.yaml"), "utf8")).replace(/^description:.*\n/m, "");
  await writeFile(join(home, "image.yaml"), `${await readFile(join(home, "image.yaml"), "utf8")}${boot}`);

  await eventually(
    "the image is listed for its template, as its default",
    30_000,
    () => local.session.templates(),
    (all) => all.find(({ id }) => id === "copy")?.images.some(({ name, default: usual }) => name === "round-trip" && usual) === true,
  );
  const yaml = `name: added
nodes:
  v1:
    template: copy
    startup-config: |
      ip address add 10.0.0.1/24 dev eth1
  h1: {template: linux, exec: ["ip address add 10.0.0.2/24 dev eth0"]}
links: [["v1:Gi0/1", "h1:eth0"]]
`;
  await local.deploy(at, labOf(yaml));
  const observed = (await local.session.observe(at))!;
  expect(observed.nodes.find(({ name }) => name === "v1")).toMatchObject({
    image: "round-trip",
    interfaces: [{ name: "Gi0/0" }, { name: "Gi0/1" }],
  });
  const live = async () => (await local.session.status(at)).nodes.find(({ name }) => name === "v1")!;
  const ready = () => eventually("v1 is ready", hang, live, ({ ready: is }) => is === true);
  const guest = async (command: string): Promise<string> => {
    const { stream } = await local.session.console(at, (await live()).id);
    try {
      return (await execCommand(stream, { command, timeoutMs: 120_000 })).output;
    } finally {
      stream.destroy();
    }
  };
  await ready();
  await eventually(
    "h1 reaches v1 over its second interface",
    hang,
    () => local.exec(at, "h1", "ping", "-c1", "-W2", "10.0.0.1"),
    ({ code }) => code === 0,
  );
  await guest("echo kept > /root/kept; sync");
  for (const step of [{ do: "stop", mode: 0 as StopMode }, { do: "start" }] as const) {
    const operation = {
      id: "1",
      of: "v1",
      op: step.do,
      kind: "node",
      key: "v1",
      reason: { code: "requested", text: "test" },
      disruption: "none",
    } as const;
    await local.session.apply(at, [{ ...operation, affects: [], changes: [], prune: false, step: { ...step, node: "v1" } }], {
      ids: noIds,
      step: () => undefined,
      warn: () => undefined,
    });
  }
  await ready();
  expect(await guest("cat /root/kept")).toBe("kept");
}, 900_000);
