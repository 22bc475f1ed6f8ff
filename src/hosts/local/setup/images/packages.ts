import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { command } from "../programs/command.ts";

/** A Debian package, unpacked. */
export interface UnpackedPackage {
  readonly name: string;
  readonly version: string;
  /** Directory that contains the unpacked files. */
  readonly tree: string;
}

/**
 * Downloads the named Debian packages and the libraries on which they depend, with the machine's apt configuration, and unpacks each below `work`.
 * Installs nothing and uses no installed files. Needs neither root nor apt's locks.
 */
export async function fetchPackages(
  names: readonly string[],
  work: string,
  say: (text: string) => void,
): Promise<readonly UnpackedPackage[]> {
  const apt = await Apt.open(work);
  const download = async () => {
    const wanted = (await apt.closure(names)).filter((pkg) => names.includes(pkg.name) || isLibrary(pkg.name) || isKernel(pkg.name));
    say(`fetching ${wanted.length} Debian packages`);
    await apt.download(wanted);
    return wanted;
  };
  // A mirror drops old versions: lists that are out of date show as a failed resolution or download.
  const wanted = await download().catch(async (first: Error) => {
    say("refreshing Debian's package lists");
    await apt.update().catch((error: Error) => {
      throw new Error(`${first.message}\nand then: ${error.message}`, { cause: first });
    });
    return download();
  });
  say(`unpacking ${wanted.length} Debian packages`);
  return unpack(wanted, apt.debs, join(work, "trees"));
}

/** Keeps libraries, found by the package's name: an image does not need the programs, scripts and documentation on which packages also depend. */
function isLibrary(name: string): boolean {
  return /^lib.*\d|-libs$/.test(name) || ["zlib1g", "libpam-modules"].includes(name);
}

/** Dependencies contain the package name without its version. */
function isKernel(name: string): boolean {
  return /^linux-image-\d.*-cloud-amd64$/.test(name);
}

interface Version {
  readonly name: string;
  readonly version: string;
}

class Apt {
  readonly debs: string;
  readonly options: readonly string[];

  private constructor(debs: string, options: readonly string[]) {
    this.debs = debs;
    this.options = options;
  }

  static async open(work: string): Promise<Apt> {
    const debs = join(work, "debs");
    const state = join(work, "apt");
    await mkdir(join(debs, "partial"), { recursive: true });
    await mkdir(join(state, "lists", "partial"), { recursive: true });
    await writeFile(join(state, "status"), "");
    // apt downloads as this unprivileged user.
    if (process.getuid?.() === 0) for (const dir of [work, debs, join(state, "lists", "partial")]) await chmod(dir, 0o777);
    const own = ["-o", `Dir::State::status=${join(state, "status")}`, "-o", "Debug::NoLocking=1", "-o", "APT::Install-Recommends=0"];
    const lists = (await hasLists("/var/lib/apt/lists")) ? [] : ["-o", `Dir::State::lists=${join(state, "lists")}`];
    const apt = new Apt(debs, [...own, ...lists]);
    if (lists.length > 0) await apt.update();
    return apt;
  }

  /** Returns the packages that apt would install on an empty machine. */
  async closure(names: readonly string[]): Promise<readonly Version[]> {
    const output = await command(["apt-get", ...this.options, "-s", "-q", "install", ...names]);
    return [...output.matchAll(/^Inst (\S+) \((\S+) /gm)].map(([, name, version]) => ({ name: name!.split(":")[0]!, version: version! }));
  }

  async download(packages: readonly Version[]): Promise<void> {
    await command(["apt-get", ...this.options, "-q", "download", ...packages.map((p) => `${p.name}=${p.version}`)], { cwd: this.debs });
  }

  async update(): Promise<void> {
    const root = process.getuid?.() === 0;
    if (!root && !this.options.some((option) => option.startsWith("Dir::State::lists="))) {
      throw new Error("the package lists are out of date: run `apt-get update` as root");
    }
    await command(["apt-get", ...this.options, "-q", "update"]);
  }
}

async function hasLists(directory: string): Promise<boolean> {
  // Before the first update there is no directory.
  const names = await readdir(directory).catch(() => []);
  return names.some((name) => name.includes("_Packages"));
}

async function unpack(packages: readonly Version[], debs: string, trees: string): Promise<readonly UnpackedPackage[]> {
  const files = await readdir(debs);
  const unpacked: UnpackedPackage[] = [];
  const queue = [...packages];
  const worker = async () => {
    for (let pkg = queue.shift(); pkg !== undefined; pkg = queue.shift()) {
      const { name, version } = pkg;
      const file = files.find((entry) => entry.startsWith(`${name}_`) && entry.endsWith(".deb"));
      if (file === undefined) throw new Error(`apt-get download left no file for ${name}`);
      const tree = join(trees, name);
      await mkdir(tree, { recursive: true });
      await command(["dpkg-deb", "--extract", join(debs, file), tree]);
      unpacked.push({ name, version, tree });
    }
  };
  await Promise.all([worker(), worker(), worker()]);
  return unpacked.sort((a, b) => (a.name < b.name ? -1 : 1));
}
