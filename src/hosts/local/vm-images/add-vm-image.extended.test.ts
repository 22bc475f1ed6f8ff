import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { unpackLimits } from "../containers/archive/budget.ts";
import { findVmImages } from "../images/vm-images.ts";
import { localPaths } from "../machine/paths.ts";
import { builtinTemplates, loadTemplates } from "../templates/reading/templates.ts";
import { type AddVmOptions, addVmImage } from "./add-vm-image.ts";
import { findQemuImg, type QemuImg, runQemuImg } from "./qemu-img.ts";
import { pruneVmImages, removeVmImage } from "./remove-vm-image.ts";
import { isVmSource } from "./source-kind.ts";

const { templates } = await loadTemplates([builtinTemplates]);
const images = localPaths(process.env, process.getuid?.() ?? 0).images;
const mib = 1 << 20;

let home: string;
let qemuImg: QemuImg;
/** The bytes of the disk that all others are made from. */
let disk: Buffer;
const at = (name: string) => join(home, name);

async function qemu(...words: readonly string[]): Promise<string> {
  // The files belong to this test's user.
  const { user: _user, ...mine } = qemuImg;
  const { code, text, output } = await runQemuImg(mine, home, words, { bytes: 1 << 30 });
  if (code !== 0) throw new Error(text);
  return output;
}

/** A disk with one partition, and data in it. */
function partitioned(bytes: number): Buffer {
  const made = Buffer.alloc(bytes);
  made[446 + 4] = 0x83;
  made.writeUInt32LE(2048, 446 + 8);
  made.writeUInt32LE(bytes / 512 - 2048, 446 + 12);
  made.writeUInt16BE(0x55aa, 510);
  randomBytes(mib / 2).copy(made, 2 * mib);
  return made;
}

/** A CD with nothing but its descriptor. */
function cd(blocks: number): Buffer {
  const made = Buffer.alloc(blocks * 2048);
  made.write("\x01CD001\x01", 16 * 2048, "latin1");
  made.writeUInt32LE(blocks, 16 * 2048 + 80);
  made.writeUInt16LE(2048, 16 * 2048 + 128);
  return made;
}

type Entry = readonly [name: string, data: Buffer | string, more?: { readonly type?: "symlink"; readonly linkname?: string }];

async function tar(entries: readonly Entry[]): Promise<Buffer> {
  const archive = pack();
  for (const [name, data, more] of entries) archive.entry({ name, ...more }, data);
  archive.finalize();
  const parts: Buffer[] = [];
  for await (const part of archive) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

const description = (...names: readonly string[]) => `<?xml version="1.0"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1">
  <References>${names.map((name, i) => `<File ovf:href="${name}" ovf:id="file${i}"/>`).join("")}</References>
  <DiskSection>${names.map((_, i) => `<Disk ovf:diskId="disk${i}" ovf:fileRef="file${i}" ovf:capacity="16"/>`).join("")}</DiskSection>
</Envelope>`;

function options(files: readonly string[], more: Partial<AddVmOptions> = {}): AddVmOptions {
  return {
    files: files.map((file) => (file.startsWith("/") ? file : at(file))),
    directory: at("vm-images"),
    images,
    templates,
    replace: false,
    usersOf: () => [],
    now: () => new Date("2026-01-02T03:04:05Z"),
    say: () => undefined,
    ...more,
  };
}

async function refusal(files: readonly string[], more: Partial<AddVmOptions> = {}): Promise<ArchiveError> {
  const error = await addVmImage(options(files, more)).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ArchiveError)) throw new Error(`expected a refusal, got ${String(error)}`);
  expect(error.hint, "a refusal has a next step").toMatch(/\w/);
  return error;
}

/** The disk of an image, as the guest would see it. */
async function content(image: string, name = "disk1.qcow2"): Promise<Buffer> {
  await qemu("convert", "-f", "qcow2", "-O", "raw", join(at("vm-images"), image, name), at("content.raw"));
  return readFile(at("content.raw"));
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "labwright-vm-add-"));
  // The user of the converter passes through it.
  await chmod(home, 0o755);
  qemuImg = await findQemuImg(images, at("libraries"));
  disk = partitioned(4 * mib);
  await writeFile(at("disk.img"), disk);
  await qemu("convert", "-f", "raw", "-O", "qcow2", "disk.img", "disk.qcow2");
  await qemu("convert", "-f", "raw", "-O", "vmdk", "disk.img", "sparse.vmdk");
  await qemu("convert", "-f", "raw", "-O", "vmdk", "-o", "subformat=streamOptimized", "disk.img", "stream.vmdk");
  await writeFile(at("setup.iso"), cd(40));
}, 120_000);
afterAll(() => rm(home, { recursive: true }));

describe("an image of a virtual machine", () => {
  test.each([
    ["qcow2", "disk.qcow2"],
    ["a sparse VMDK", "sparse.vmdk"],
    ["a stream VMDK", "stream.vmdk"],
    ["a raw disk", "disk.img"],
  ])("is made of %s, whatever its name", async (_, file) => {
    const name = `plain-${file.replace(".", "-")}`;
    await writeFile(at(`${name}.dat`), await readFile(at(file)));
    const said: string[] = [];
    const added = await addVmImage(options([`${name}.dat`], { name, say: (text) => said.push(text) }));
    expect(added).toMatchObject({ name, by: "default", disks: 1, cdroms: 0, template: { id: "qemu" } });
    expect((await content(name)).equals(disk)).toBe(true);
    expect(said.join()).toContain(`reading ${name}.dat`);
    const { images: found, problems } = await findVmImages(at("vm-images"));
    expect(problems).toEqual([]);
    expect(found.find((image) => image.name === name)).toMatchObject({
      modified: "2026-01-02T03:04:05.000Z",
      vm: { disks: [{ file: "disk1.qcow2", format: "qcow2" }], cdroms: [], template: "qemu", from: `${name}.dat` },
    });
  });

  test("takes its name and its template from the name of its file, also in the folders of EVE-NG", async () => {
    await writeFile(at("vios-adventerprisek9-m.spa.159-3.m9.qcow2"), await readFile(at("disk.qcow2")));
    expect(await addVmImage(options(["vios-adventerprisek9-m.spa.159-3.m9.qcow2"]))).toMatchObject({
      name: "vios-adventerprisek9-m.spa.159-3.m9",
      by: "file name",
      template: { id: "vios", software: { license: "a licence of Cisco Modeling Labs" } },
    });
    await mkdir(at("veos-4.29"));
    await writeFile(at("veos-4.29/hda.qcow2"), await readFile(at("disk.qcow2")));
    await writeFile(at("veos-4.29/cdrom.iso"), await readFile(at("setup.iso")));
    expect(await addVmImage(options(["veos-4.29/hda.qcow2"]))).toMatchObject({ name: "veos-4.29", template: { id: "veos" } });
    expect(await addVmImage(options(["veos-4.29"], { name: "folder" }))).toMatchObject({ template: { id: "veos" }, disks: 1, cdroms: 1 });
    expect(await addVmImage(options(["disk.qcow2"], { name: "chosen", template: "csr1000v" }))).toMatchObject({
      by: "flag",
      template: { id: "csr1000v" },
    });
    expect((await refusal(["disk.qcow2"], { template: "frr" })).message).toBe("there is no template frr of virtual machines");
  });

  test("may be compressed, have several disks and a CD", async () => {
    await writeFile(at("packed.img.gz"), gzipSync(disk));
    const added = await addVmImage(options(["packed.img.gz", "stream.vmdk", "setup.iso"], { name: "several" }));
    expect(added).toMatchObject({ disks: 2, cdroms: 1 });
    expect((await readdir(join(at("vm-images"), "several"))).sort()).toEqual(["cdrom.iso", "disk1.qcow2", "disk2.qcow2", "image.yaml"]);
    expect((await content("several")).equals(disk)).toBe(true);
    expect((await readFile(join(at("vm-images"), "several", "cdrom.iso"))).equals(cd(40))).toBe(true);
    // The disk is mostly zeros, which take no room.
    expect((await stat(join(at("vm-images"), "several", "disk1.qcow2"))).size).toBeLessThan(2 * mib);
    expect((await refusal(["setup.iso", "setup.iso"], { name: "cds" })).message).toContain("is a second CD");
    expect((await refusal(Array(4).fill("disk.qcow2"), { name: "many" })).message).toContain("is disk 4: a node has at most 3");
  });

  test("is made of an OVA: the disks in the order of its description", async () => {
    const [stream, other] = [await readFile(at("stream.vmdk")), gzipSync(await readFile(at("disk.qcow2")))];
    const sums = `SHA256(b.vmdk)= ${createHash("sha256").update(stream).digest("hex")}\n`;
    const ovf = description("b.vmdk", "a.vmdk.gz");
    await writeFile(
      at("box.ova"),
      await tar([
        ["box.ovf", ovf],
        ["box.mf", sums],
        ["a.vmdk.gz", other],
        ["b.vmdk", stream],
      ]),
    );
    expect(await isVmSource(at("box.ova"))).toBe(true);
    expect(await addVmImage(options(["box.ova"]))).toMatchObject({ name: "box", disks: 2 });
    expect((await content("box")).equals(disk)).toBe(true);
    expect((await content("box", "disk2.qcow2")).equals(disk)).toBe(true);
  });

  test("is replaced only on demand, and never below the disks of nodes", async () => {
    await addVmImage(options(["disk.qcow2"], { name: "twice" }));
    expect(await refusal(["disk.qcow2"], { name: "twice" })).toMatchObject({ code: "exists" });
    const used = { name: "twice", replace: true, usersOf: (name: string) => [`/lab of ${name}`] };
    expect(await refusal(["disk.qcow2"], used)).toMatchObject({
      code: "in_use",
      message: "image twice is used by /lab of twice, whose disks are based on it",
    });
    await addVmImage(options(["disk.qcow2", "disk.img"], { name: "twice", replace: true }));
    expect((await readdir(join(at("vm-images"), "twice"))).sort()).toEqual(["disk1.qcow2", "disk2.qcow2", "image.yaml"]);
  });

  test("is removed unless a lab uses it; prune spares directories that somebody made", async () => {
    const directory = at("pruned");
    for (const name of ["one", "two"]) await addVmImage(options(["disk.qcow2"], { name, directory }));
    await mkdir(join(directory, "mine"), { mode: 0o755 });
    await writeFile(join(directory, "mine", "disk.img"), disk, { mode: 0o644 });
    const usersOf = (name: string) => (name === "one" ? ["/lab"] : []);
    await expect(removeVmImage(directory, "one", usersOf)).rejects.toMatchObject({ code: "in_use" });
    expect(await pruneVmImages(directory, usersOf, true)).toMatchObject({ images: ["two"] });
    expect(await pruneVmImages(directory, usersOf, false)).toMatchObject({ images: ["two"] });
    await removeVmImage(directory, "one", () => []);
    expect((await readdir(directory)).filter((name) => !name.startsWith("."))).toEqual(["mine"]);
  });
});

describe("a file is refused, and leaves nothing behind", () => {
  const cases: readonly (readonly [what: string, make: () => Promise<void>, code: string, message: RegExp])[] = [
    ["that is not there", async () => undefined, "not_found", /^there is no .*bad$/],
    ["of other content", () => writeFile(at("bad"), "hello"), "bad_image", /is not a disk: its first bytes/],
    ["that is a zip archive", () => writeFile(at("bad"), "PK\x03\x04rest"), "bad_image", /is a zip archive/],
    ["of another format", () => writeFile(at("bad"), "vhdxfile"), "bad_image", /format vhdx, which is not read/],
    [
      "that differs from another file",
      async () => void (await qemu("create", "-f", "qcow2", "-b", "/etc/shadow", "-F", "raw", "bad", "1M")),
      "unsafe_image",
      /bad: byte 8: it is the difference to another file, "\/etc\/shadow"/,
    ],
    [
      "whose data is elsewhere",
      async () => void (await qemu("create", "-f", "qcow2", "-o", "data_file=elsewhere.raw", "bad", "1M")),
      "unsafe_image",
      /byte 72: its data is in another file/,
    ],
    [
      "that describes other files",
      async () => void (await qemu("convert", "-f", "raw", "-O", "vmdk", "-o", "subformat=monolithicFlat", "disk.img", "bad")),
      "unsafe_image",
      /is a description of a disk: its data is in other files, such as "bad-flat"/,
    ],
    [
      "with a description inside that names other files",
      () => changedVmdk(/"[^"]*"(?=\s*#)/, "/etc/passwd"),
      "unsafe_image",
      /"\/etc\/passwd"/,
    ],
    [
      "whose description names a parent",
      () => changedVmdk(/parentCID=ffffffff/, "parentCID=12345678"),
      "unsafe_image",
      /it is the difference to another disk/,
    ],
    [
      "without a capacity of its own",
      () => changed("sparse.vmdk", (data) => data.writeBigUInt64LE(0n, 12)),
      "unsafe_image",
      /only a description/,
    ],
    ["that is encrypted", () => changed("disk.qcow2", (data) => data.writeUInt32BE(2, 32)), "bad_image", /byte 32: it is encrypted/],
    [
      "with a disk of an exabyte",
      () => changed("disk.qcow2", (data) => data.writeBigUInt64BE(1n << 60n, 24)),
      "too_large",
      /a disk of 1152921504606846976 bytes is larger/,
    ],
    [
      "with features that are not known",
      () => changed("disk.qcow2", (data) => data.writeBigUInt64BE(1n << 40n, 72)),
      "bad_image",
      /features/,
    ],
    ["of a qcow2 disk that is cut off", () => cut("disk.qcow2", mib / 2), "bad_image", /is damaged or cut off: |is cut off/],
    ["of a header that is cut off", () => cut("disk.qcow2", 20), "bad_image", /is cut off: it has 20 bytes/],
    ["of a VMDK disk that is cut off", () => cut("sparse.vmdk", mib / 2), "bad_image", /is damaged or cut off|is cut off/],
    ["of a stream that is cut off", () => cut("stream.vmdk", mib / 4), "bad_image", /cut off|not readable/],
    ["of a raw disk that is cut off", () => cut("disk.img", 2 * mib), "bad_image", /its partition 1 ends at byte 4194304/],
    ["of a CD that is cut off", () => cut("setup.iso", 38 * 2048), "bad_image", /the CD has 81920 bytes, and the file 77824/],
    ["of gzip that is cut off", () => writeFile(at("bad"), gzipSync(disk).subarray(0, 100_000)), "bad_archive", /is damaged/],
    [
      "with a link in its archive",
      () =>
        ova([
          ["box.ovf", description("a")],
          ["a", "", { type: "symlink", linkname: "/etc/shadow" }],
        ]),
      "unsafe_image",
      /"a" is not a plain file/,
    ],
    [
      "with a path out of its archive",
      () =>
        ova([
          ["box.ovf", description("a")],
          ["../a", "x"],
        ]),
      "unsafe_image",
      /"..\/a" is a path out of the archive/,
    ],
    ["whose description names a path", () => ova([["box.ovf", description("../../etc/shadow")]]), "unsafe_image", /outside of the archive/],
    [
      "whose description names a missing file",
      () => ova([["box.ovf", description("a.vmdk")]]),
      "bad_image",
      /"a.vmdk", which is not in the archive/,
    ],
    ["without disks in its description", () => ova([["box.ovf", "<Envelope/>"]]), "bad_image", /it has no disk/],
    [
      "with a name twice",
      () =>
        ova([
          ["box.ovf", description("a")],
          ["a", "x"],
          ["a", "y"],
        ]),
      "unsafe_image",
      /has the file "a" twice/,
    ],
    [
      "with a wrong checksum",
      () =>
        ova([
          ["box.ovf", description("a")],
          ["box.mf", `SHA256(a)= ${"0".repeat(64)}`],
          ["a", "x"],
        ]),
      "digest_mismatch",
      /a does not match its SHA256/,
    ],
    [
      "with an archive in its archive",
      async () =>
        ova([
          ["box.ovf", description("a")],
          ["a", await tar([["b.ovf", "x"]])],
        ]),
      "bad_image",
      /an archive in an archive/,
    ],
    [
      "of an archive that is cut off",
      async () =>
        writeFile(
          at("bad"),
          (
            await tar([
              ["box.ovf", description("a")],
              ["a", disk],
            ])
          ).subarray(0, mib),
        ),
      "bad_archive",
      /cut off/,
    ],
  ];

  async function changed(file: string, change: (data: Buffer) => unknown): Promise<void> {
    const data = await readFile(at(file));
    change(data);
    await writeFile(at("bad"), data);
  }
  /** Changes the description inside a VMDK file; its length stays. */
  function changedVmdk(from: RegExp, to: string): Promise<void> {
    return changed("sparse.vmdk", (data) => {
      const text = data.toString("latin1", 512, 20 * 512).replace(/\0.*$/s, "");
      const next = from.source.startsWith('"') ? text.replace(/SPARSE "[^"]*"/, `SPARSE "${to}"`) : text.replace(from, to);
      expect(next).not.toBe(text);
      data.fill(0, 512, 20 * 512);
      data.write(next, 512, "latin1");
    });
  }
  async function cut(file: string, bytes: number): Promise<void> {
    await writeFile(at("bad"), await readFile(at(file)));
    await truncate(at("bad"), bytes);
  }
  async function ova(entries: readonly Entry[]): Promise<void> {
    await writeFile(at("bad"), await tar(entries));
  }

  test.each(cases)("%s", async (_, make, code, message) => {
    const directory = at("empty");
    await rm(at("bad"), { force: true });
    await make();
    const error = await refusal(["bad"], { directory, name: "bad" });
    expect(error.message).toMatch(message);
    expect(error.code).toBe(code);
    expect((await readdir(directory)).filter((name) => name !== ".lock")).toEqual([]);
  });

  test("that unpacks to more than the limit, or than the disk has room for", async () => {
    await writeFile(at("bomb.gz"), gzipSync(Buffer.alloc(8 * mib)));
    const limits = { ...unpackLimits, bytes: 4 * mib };
    expect(await refusal(["bomb.gz"], { name: "bomb", limits })).toMatchObject({ code: "too_large", message: /more than 4194304 bytes/ });
    const tight = { ...unpackLimits, ratio: 10, ratioFrom: mib };
    expect(await refusal(["bomb.gz"], { name: "bomb", limits: tight })).toMatchObject({ code: "too_large" });
    // The converter's own limit: the disk becomes larger than its stream.
    expect(await refusal(["stream.vmdk"], { name: "bomb", limits: { ...unpackLimits, bytes: 700_000 } })).toMatchObject({
      code: "too_large",
    });
  });

  test.runIf(process.getuid?.() === 0)("on a disk that is full", async () => {
    const directory = at("small");
    await mkdir(directory);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=258m", "tmpfs", directory]);
    try {
      // 256 MiB stay free for the service.
      const big = partitioned(4 * mib);
      randomBytes(3 * mib).copy(big, 512);
      big[446 + 4] = 0;
      await writeFile(at("big.img"), big);
      expect(await refusal(["big.img"], { directory, name: "big" })).toMatchObject({
        code: "disk_full",
        message: `the disk of ${directory} is full: the image was not added`,
        hint: "labwright image prune removes unused images",
      });
      expect((await readdir(directory)).filter((name) => name !== ".lock")).toEqual([]);
    } finally {
      execFileSync("umount", [directory]);
    }
  });

  test("when the user interrupts", async () => {
    const stop = new AbortController();
    const reason = new ArchiveError("interrupted", "no image was added", "again");
    const say = (text: string) => text.startsWith("checking") && stop.abort(reason);
    // The check starts before it has progress.
    stop.abort(reason);
    expect(await refusal(["disk.qcow2"], { name: "stopped", say, signal: stop.signal })).toBe(reason);
    expect(await readdir(at("vm-images"))).not.toContain("stopped");
  });

  test("with a name that an image cannot have", async () => {
    await symlink(at("disk.qcow2"), at("link.qcow2"));
    for (const name of ["../up", "a/b", "", ".hidden", "default"])
      expect(await refusal(["disk.qcow2"], { name })).toMatchObject({ code: "bad_name" });
    expect(await addVmImage(options(["link.qcow2"], { name: "linked" }))).toMatchObject({ disks: 1 });
  });
});

test("the content of a file decides whether it is a machine's or a container's; a name only if the content says nothing", async () => {
  await writeFile(at("layer.tar"), await tar([["etc/hosts", "x"]]));
  await writeFile(at("machine.tar"), await tar([["box.ovf", description("a")]]));
  await writeFile(at("machine.bin"), gzipSync(await readFile(at("disk.qcow2"))));
  await writeFile(at("text.qcow2"), "hello");
  const kinds = await Promise.all(
    ["layer.tar", "machine.tar", "machine.bin", "text.qcow2", "none.vmdk", "none.tar"].map((name) => isVmSource(at(name))),
  );
  expect(kinds).toEqual([false, true, true, true, true, false]);
});

test("a tar archive that is named .ova is read as one, wherever its description is", async () => {
  const link: Entry = ["a", "", { type: "symlink", linkname: "/etc/shadow" }];
  await writeFile(at("linked.ova"), await tar([link, ["box.ovf", description("a")]]));
  expect(await isVmSource(at("linked.ova"))).toBe(true);
  expect(await refusal(["linked.ova"], { name: "linked-ova" })).toMatchObject({ code: "unsafe_image" });
});
