import { createHash } from "node:crypto";
import { chmod, copyFile, lchown, lstat, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { packagePath } from "../../../../files/program-path.ts";
import { type ImageRecord, imageRecords } from "../../images/images.ts";
import { buildProgram, programSources } from "../programs/build-program.ts";
import { command } from "../programs/command.ts";
import type { ProgramName } from "../programs/compile.ts";
import { contentsOf } from "./contents.ts";
import { type IndexedFile, indexFiles } from "./file-index.ts";
import { makeGuestKernel } from "./guest-kernel.ts";
import { kernelOf, makeMachine } from "./machine-image.ts";
import { fetchPackages } from "./packages.ts";
import { type Recipe, recipesFor } from "./recipes.ts";
import { hasDisk, makeDisk } from "./tree-disk.ts";

/** Files of ours that go into an image as they are, by image name; shipped as sources, also beside a compiled package. */
const ownFiles = packagePath("src/hosts/local/setup/rootfs");

export interface BuildOptions {
  /** The image directory; made when absent. */
  readonly directory: string;
  /** Outside id of the trees' root: see idmap.ts; 0 where everything belongs to the user who builds. */
  readonly idBase: number;
  /** Library directory name of this machine, such as x86_64-linux-gnu. */
  readonly triplet: string;
  readonly now: () => Date;
  readonly say: (text: string) => void;
}

/** Names of the images that are missing or whose recipe changed; the file system is all it looks at. */
export async function staleImages(options: Pick<BuildOptions, "directory" | "idBase" | "triplet">): Promise<readonly string[]> {
  const records = await imageRecords(options.directory);
  const stale = [];
  for (const recipe of recipesFor(options.triplet)) {
    const digest = await recipeDigest(recipe, options);
    const built = [...records].filter(([, record]) => record.name === recipe.name && record.recipe === digest);
    const whole = built.some(([entry]) => recipe.disk !== true || hasDisk(options.directory, entry));
    if (!whole) stale.push(recipe.name);
  }
  return stale;
}

/** Builds every image with the newest packages; an existing image with the same content is kept. Returns the built images. */
export async function buildImages(options: BuildOptions): Promise<readonly ImageRecord[]> {
  await mkdir(options.directory, { recursive: true });
  await removeAbandoned(options.directory);
  const work = join(options.directory, `.build-${process.pid}`);
  try {
    await mkdir(work);
    const recipes = recipesFor(options.triplet);
    const packages = await fetchPackages([...new Set(recipes.flatMap((recipe) => recipe.packages))].sort(), work, options.say);
    const index = await indexFiles(packages);
    const built: ImageRecord[] = [];
    const entries = new Map<string, string>();
    for (const recipe of recipes) {
      const { entry, record } = await buildImage(recipe, index, entries, work, options);
      entries.set(recipe.name, entry);
      if (recipe.disk === true && !hasDisk(options.directory, entry)) await makeDisk(options.directory, entry, recipe.modes);
      if (record !== undefined) built.push(record);
    }
    return built;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** `entries`: directory names of the images built before this one, by name. The record is absent when the image was there already. */
async function buildImage(
  recipe: Recipe,
  index: ReadonlyMap<string, IndexedFile>,
  entries: ReadonlyMap<string, string>,
  work: string,
  options: BuildOptions,
): Promise<{ readonly entry: string; readonly record?: ImageRecord }> {
  const under = recipe.over === undefined ? undefined : entries.get(recipe.over);
  const lower = under === undefined ? undefined : join(options.directory, under, "rootfs");
  const lowerPaths = lower === undefined ? new Set<string>() : new Set(await pathsBelow(lower, "/"));
  const contents = await contentsOf(recipe, index, options.triplet, (path) => lowerPaths.has(path));
  const kernel = recipe.machine === undefined && recipe.guest === undefined ? [] : [kernelOf(index)];
  const versions = new Map([...contents.values(), ...kernel].map((file) => [file.package.name, file.package.version]));
  const packages = Object.fromEntries([...versions].sort(([a], [b]) => (a < b ? -1 : 1)));
  const recipeHash = await recipeDigest(recipe, options);
  const layers = under === undefined ? [] : [under];
  const digest = sha256(JSON.stringify([recipeHash, packages, layers]));
  const entry = `${recipe.name}-${digest.slice(0, 12)}`;
  if ((await imageRecords(options.directory)).has(entry)) return { entry };

  options.say(`building ${recipe.name}`);
  const home = join(work, entry);
  const root = join(home, "rootfs");
  await mkdir(root, { recursive: true });
  for (const file of contents.values()) await place(file, root);
  for (const [path, target] of Object.entries(recipe.links)) await link(join(root, path), target);
  if (recipe.ownFiles) await copyOwn(join(ownFiles, recipe.name), root);
  if (recipe.busybox) await linkApplets(root);
  if (recipe.packages.includes("ca-certificates")) await bundleCertificates(root);
  for (const [path, name] of Object.entries(recipe.programs ?? {})) await compile(name, join(root, path), work);
  for (const { path, mode } of recipe.modes) {
    await mkdir(join(root, path), { recursive: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    await chmod(join(root, path), mode);
  }
  if (recipe.machine !== undefined) await makeMachine(root, recipe.description, recipe.machine, index);
  if (recipe.guest !== undefined) await makeGuestKernel(root, recipe.guest, index);
  await own(root, recipe.machine === undefined ? recipe.modes : [], options.idBase);
  const record: ImageRecord = {
    name: recipe.name,
    description: recipe.description,
    recipe: recipeHash,
    digest,
    ...(recipe.machine === undefined ? {} : { machine: true }),
    layers,
    packages,
    size_bytes: await treeSize(root),
    created: options.now().toISOString(),
    id_base: options.idBase,
  };
  await writeFile(join(home, "image.json"), `${JSON.stringify(record, null, 2)}\n`);
  await chmod(home, 0o755);
  // A directory without a record is the rest of an interrupted removal.
  await rm(join(options.directory, entry), { recursive: true, force: true });
  await rename(home, join(options.directory, entry));
  return { entry, record };
}

/** Changes when images get other files from the same recipe. */
const formatVersion = 2;

async function recipeDigest(recipe: Recipe, options: Pick<BuildOptions, "idBase" | "triplet">): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([formatVersion, recipe, options.idBase, options.triplet]));
  const tree = join(ownFiles, recipe.name);
  for (const path of recipe.ownFiles ? (await pathsBelow(tree, "/")).toSorted() : []) {
    const { mode } = await lstat(join(tree, path));
    hash.update(`\0${path}\0${mode & 0o111}\0`).update(await readFile(join(tree, path)));
  }
  for (const name of Object.values(recipe.programs ?? {})) hash.update(await programSources(name));
  if (recipe.over !== undefined) {
    const below = recipesFor(options.triplet).find((other) => other.name === recipe.over);
    if (below === undefined) throw new Error(`image ${recipe.name} lies over ${recipe.over}, which has no recipe`);
    hash.update(await recipeDigest(below, options));
  }
  return hash.digest("hex");
}

async function place(file: IndexedFile, root: string): Promise<void> {
  const to = join(root, file.path);
  if (file.target !== undefined) return link(to, file.target);
  await mkdir(dirname(to), { recursive: true });
  await copyFile(file.source, to);
}

async function compile(name: ProgramName, to: string, work: string): Promise<void> {
  const out = join(work, name);
  await buildProgram(name, { out });
  await mkdir(dirname(to), { recursive: true });
  await copyFile(out, to);
  await chmod(to, 0o755);
}

async function link(path: string, target: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(target, path);
}

async function copyOwn(tree: string, root: string): Promise<void> {
  for (const path of await pathsBelow(tree, "/")) {
    const to = join(root, path);
    await mkdir(dirname(to), { recursive: true });
    await copyFile(join(tree, path), to);
    // Only git's executable bit counts, not the umask of the checkout.
    await chmod(to, ((await lstat(join(tree, path))).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}

async function linkApplets(root: string): Promise<void> {
  const busybox = join(root, "usr/bin/busybox");
  const applets = (await command([busybox, "--list-full"])).split("\n").filter((path) => path !== "");
  const programs = new Set(
    (await pathsBelow(root, "/usr")).filter((path) => /^\/usr\/s?bin\//.test(path)).map((path) => path.replace(/.*\//, "")),
  );
  for (const applet of applets) {
    const name = applet.replace(/.*\//, "");
    const directory = /sbin\//.test(applet) ? "usr/sbin" : "usr/bin";
    if (!programs.has(name)) await link(join(root, directory, name), "/usr/bin/busybox");
  }
}

/** All of Debian's certificate authorities in the one file that programs look for. */
async function bundleCertificates(root: string): Promise<void> {
  const tree = join(root, "usr/share/ca-certificates");
  const texts = await Promise.all((await pathsBelow(tree, "/")).toSorted().map((path) => readFile(join(tree, path), "utf8")));
  await mkdir(join(root, "etc/ssl/certs"), { recursive: true });
  await writeFile(join(root, "etc/ssl/certs/ca-certificates.crt"), texts.map((text) => `${text.trimEnd()}\n`).join(""));
  await rm(tree, { recursive: true });
}

/** As root every entry goes to the outside id of its inside owner; changing an owner drops set-user-id bits, so modes come after. */
async function own(root: string, modes: Recipe["modes"], idBase: number): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const owners = new Map(modes.map((entry) => [entry.path, entry]));
  const visit = async (path: string): Promise<void> => {
    const at = join(root, path);
    const { mode } = await lstat(at);
    const owner = owners.get(path);
    await lchown(at, idBase + (owner?.uid ?? 0), idBase + (owner?.gid ?? 0));
    if ((mode & 0o170000) !== 0o120000) await chmod(at, mode & 0o7777);
    if ((mode & 0o170000) === 0o040000) for (const name of await readdir(at)) await visit(join(path, name));
  };
  await visit("/");
}

/** Files and symbolic links below root/directory, as paths that start with "/" below root. */
async function pathsBelow(root: string, directory: string): Promise<readonly string[]> {
  const entries = await readdir(join(root, directory), { withFileTypes: true });
  const paths = await Promise.all(
    entries.map((entry) => (entry.isDirectory() ? pathsBelow(root, join(directory, entry.name)) : [join(directory, entry.name)])),
  );
  return paths.flat();
}

/** Bytes that its files take; one with holes takes less than it is long. */
async function treeSize(root: string): Promise<number> {
  const sizes = await Promise.all(
    (await pathsBelow(root, "/")).map(async (path) => {
      const { size, blocks } = await lstat(join(root, path));
      return Math.min(size, blocks * 512);
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Work directories of builds that a crash cut off. */
async function removeAbandoned(directory: string): Promise<void> {
  for (const entry of await readdir(directory)) {
    const pid = /^\.build-(\d+)$/.exec(entry)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(directory, entry), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
