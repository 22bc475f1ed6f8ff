import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { type TarWrite, tarArchive } from "../../../../files/tar/tar-writer.ts";
import { machinePlatform } from "../platform.ts";

/** Archives for tests, made as docker and others make them. */

export function sha256(data: Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}

export function file(name: string, text: string, more: Partial<TarWrite> = {}): TarWrite {
  return { name, data: Buffer.from(text), ...more };
}

export function directory(name: string, mode = 0o755): TarWrite {
  return { name: `${name}/`, type: "5", mode };
}

export function configOf(layers: readonly Buffer[], config: object = { Cmd: ["/bin/sh"] }, platform = machinePlatform()): Buffer {
  const [os, architecture] = platform.split("/");
  const diff_ids = layers.map((layer) => `sha256:${sha256(layer)}`);
  return json({ os, architecture, config, rootfs: { type: "layers", diff_ids } });
}

export function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** An archive of `docker save` before version 25: one directory for each layer; a repeated layer is a link. */
export function dockerArchive(layers: readonly Buffer[], config: Buffer, names: readonly string[] = ["test:1"]): Buffer {
  const paths = layers.map((layer, i) => ({ path: `${sha256(Buffer.from(`${i}`))}/layer.tar`, layer }));
  const entries = paths.map(({ path, layer }, i): TarWrite => {
    const twin = paths.slice(0, i).find((other) => other.layer.equals(layer));
    return twin === undefined ? { name: path, data: layer } : { name: path, type: "2", link: `../${twin.path}` };
  });
  const manifest = [{ Config: `${sha256(config)}.json`, RepoTags: names, Layers: paths.map(({ path }) => path) }];
  return tarArchive([...entries, { name: `${sha256(config)}.json`, data: config }, { name: "manifest.json", data: json(manifest) }]);
}

export interface LayoutImage {
  readonly layers: readonly Buffer[];
  readonly config: Buffer;
  readonly name?: string;
  readonly platform?: string;
}

const packers = {
  plain: { pack: (layer: Buffer) => layer, type: "" },
  gzip: { pack: (layer: Buffer) => gzipSync(layer), type: "+gzip" },
  zstd: { pack: (layer: Buffer) => zstdCompressSync(layer), type: "+zstd" },
} as const;

/** The files of an OCI layout, by path; images with a platform are in an index of their own, beside an attestation. */
export function layoutFiles(images: readonly LayoutImage[], packing: keyof typeof packers = "gzip"): Map<string, Buffer> {
  const files = new Map<string, Buffer>([["oci-layout", json({ imageLayoutVersion: "1.0.0" })]]);
  const put = (mediaType: string, data: Buffer) => {
    files.set(`blobs/sha256/${sha256(data)}`, data);
    return { mediaType, digest: `sha256:${sha256(data)}`, size: data.length };
  };
  const manifests = images.map(({ layers, config, name, platform }) => {
    const { pack, type } = packers[packing];
    const manifest = put(
      "application/vnd.oci.image.manifest.v1+json",
      json({
        schemaVersion: 2,
        config: put("application/vnd.oci.image.config.v1+json", config),
        layers: layers.map((layer) => put(`application/vnd.oci.image.layer.v1.tar${type}`, pack(layer))),
      }),
    );
    const [os, architecture, variant] = platform?.split("/") ?? [];
    return {
      ...manifest,
      ...(name === undefined ? {} : { annotations: { "org.opencontainers.image.ref.name": name } }),
      ...(platform === undefined ? {} : { platform: { os, architecture, variant } }),
    };
  });
  if (manifests.some((one) => "platform" in one)) {
    const attestation = {
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      digest: `sha256:${"0".repeat(64)}`,
      size: 1,
      platform: { os: "unknown", architecture: "unknown" },
    };
    const index = put("application/vnd.oci.image.index.v1+json", json({ schemaVersion: 2, manifests: [...manifests, attestation] }));
    files.set("index.json", json({ schemaVersion: 2, manifests: [index] }));
  } else files.set("index.json", json({ schemaVersion: 2, manifests }));
  return files;
}

export async function writeLayout(folder: string, files: ReadonlyMap<string, Buffer>): Promise<void> {
  for (const [path, data] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), data);
  }
}

export function tarOf(files: ReadonlyMap<string, Buffer>): Buffer {
  return tarArchive([...files].map(([name, data]) => ({ name, data })));
}

/** The busybox of image base with the libraries that it needs, and links for its applets: a whole small system. */
export function busyboxLayer(base: string): Buffer {
  const libraries = readdirSync(join(base, "usr/lib")).find((name) => name.endsWith("-linux-gnu"))!;
  const loader = readdirSync(join(base, "usr/lib64")).find((name) => name.startsWith("ld-linux"))!;
  const program = (path: string): TarWrite => ({ name: path, mode: 0o755, data: readFileSync(join(base, path)) });
  const link = (name: string, target: string): TarWrite => ({ name, type: "2", link: target });
  const applets = readdirSync(join(base, "usr/bin")).filter((name) => {
    const path = join(base, "usr/bin", name);
    return lstatSync(path).isSymbolicLink() && readlinkSync(path).endsWith("busybox");
  });
  return tarArchive([
    ...["etc", "usr", "usr/bin", "usr/lib", `usr/lib/${libraries}`, "usr/lib64", "root"].map((name) => directory(name)),
    ...["bin", "lib", "lib64"].map((name) => link(name, `usr/${name}`)),
    program("usr/bin/busybox"),
    ...["libc.so.6", "libresolv.so.2", loader].map((name) => program(`usr/lib/${libraries}/${name}`)),
    link(`usr/lib64/${loader}`, `/usr/lib/${libraries}/${loader}`),
    ...[...applets, "httpd"].map((name) => link(`usr/bin/${name}`, "busybox")),
    file("etc/passwd", "root:x:0:0::/root:/bin/sh\nweb:x:33:34::/srv:/bin/sh\n"),
    file("etc/group", "root:x:0:\nweb:x:34:\nmore:x:55:web\n"),
  ]);
}
