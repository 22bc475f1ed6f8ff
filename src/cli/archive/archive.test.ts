import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { manifestName } from "../../files/lab-archive/manifest.ts";
import { unpackLab } from "../../files/lab-archive/unpack-lab.ts";
import { unpackSource } from "../../files/source/read-source.ts";
import { tarArchive } from "../../files/tar/tar-writer.ts";
import { packFile } from "./pack-lab.ts";
import { archiveFiles, writeArchive } from "./write-archive.ts";

const file = {
  yaml: "name: größe\nnodes: {r1: {template: frr, startup-config: lab.yaml}}\n",
  files: { "lab.yaml": "hostname r1\n", "configs/r2.conf": "" },
};

async function archive(captures: Readonly<Record<string, Uint8Array>> = {}): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), "labwright-archive-"));
  try {
    const { lab, files } = packFile(file);
    for (const [name, data] of Object.entries(captures)) files.set(`captures/${name}`, data);
    await writeArchive(join(folder, "x.tar.gz"), archiveFiles("größe", lab, files));
    return await readFile(join(folder, "x.tar.gz"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Unpacks an archive whose files are changed before. */
async function changed(change: (files: Map<string, Uint8Array>) => void): Promise<unknown> {
  const { files } = await unpackSource(await archive(), "x.tar.gz");
  const now = new Map(files);
  change(now);
  const tar = tarArchive([...now].map(([name, data]) => ({ name, data: Buffer.from(data) })));
  return unpackLab(await unpackSource(gzipSync(tar), "x.tar.gz"));
}

test("an archive has the lab, its files and its captures, and the same lab gives the same bytes", async () => {
  const bytes = await archive({ "r1-eth1.pcapng": Buffer.from([10, 13, 13, 10]) });
  const lab = unpackLab(await unpackSource(bytes, "x.tar.gz"));
  expect(lab).toMatchObject({ name: "größe", yaml: file.yaml, files: file.files, checked: 4 });
  expect([...(lab?.captures ?? [])]).toEqual([["r1-eth1.pcapng", Buffer.from([10, 13, 13, 10])]]);
  expect(gunzipSync(await archive())).toEqual(gunzipSync(await archive()));
  expect(unpackLab(await unpackSource(Buffer.from("name: x\n"), "x.yaml"))).toBeUndefined();
});

test.each<[string, (files: Map<string, Uint8Array>) => void, string]>([
  ["a changed file", (files) => files.set("lab/configs/r2.conf", Buffer.from("x")), "lab/configs/r2.conf has another SHA-256 digest"],
  ["a missing file", (files) => files.delete("lab/configs/r2.conf"), "lab/configs/r2.conf is missing"],
  ["a file that is not listed", (files) => files.set("lab/evil.sh", Buffer.from("x")), "lab/evil.sh is not in the manifest"],
  ["a manifest that is not JSON", (files) => files.set(manifestName, Buffer.from("{")), "the manifest is not JSON"],
  ["a manifest of another program", (files) => files.set(manifestName, Buffer.from("{}")), "of another program"],
  [
    "a newer version",
    (files) => files.set(manifestName, Buffer.from('{"format":"labwright-archive","version":3}')),
    "this Labwright reads versions 1 and 2",
  ],
  ["an incomplete manifest", (files) => files.set(manifestName, Buffer.from('{"format":"labwright-archive","version":1}')), "incomplete"],
  [
    "a path out of the archive",
    (files) => {
      const listed = archiveFiles(
        "x",
        "lab/a",
        new Map([
          ["lab/a", Buffer.from("name: x\n")],
          ["lab/../../b", Buffer.from("")],
        ]),
      );
      files.clear();
      for (const [path, data] of listed) if (data instanceof Uint8Array) files.set(path, data);
    },
    "is not a path of an archive",
  ],
])("%s is refused", async (_name, change, message) => {
  await expect(changed(change)).rejects.toThrow(message);
});
