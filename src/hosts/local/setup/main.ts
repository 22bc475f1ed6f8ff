import { rm } from "node:fs/promises";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { makeDirectory } from "../../../files/make-directory.ts";
import { idRange } from "../machine/idmap.ts";
import { localPaths } from "../machine/paths.ts";
import { loadProfile } from "./apparmor.ts";
import { buildImages, staleImages } from "./images/image-builder.ts";
import { unusedImages } from "./images/unused-images.ts";
import { buildProgram, needsCompiler } from "./programs/build-program.ts";
import { missingPackages } from "./programs/programs.ts";
import { steps } from "./steps.ts";

const help = `Usage: labwright setup [FLAG...]

Installs the programs that run labs (holder, link shaper, packet tap, packet decoder), and builds the nodes' root file systems. Parts that are up to date
are not changed. If a release contains the programs for this processor, they are copied; otherwise they are compiled.

  --fresh  look for newer Debian packages and rebuild the root file systems if there are any
  --help

Environment: LABWRIGHT_STATE_DIR (default /var/lib/labwright as root, else ~/.local/state/labwright); LABWRIGHT_IMAGE_DIR and LABWRIGHT_HOLDER
are other places for the root file systems and the holder.`;

/** Debian's library directory name by Node's name of the processor. */
const triplets: Readonly<Record<string, string>> = { x64: "x86_64-linux-gnu", arm64: "aarch64-linux-gnu" };

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    options: { fresh: { type: "boolean" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help === true) {
    console.log(help);
    return;
  }
  const triplet = triplets[arch()];
  if (triplet === undefined || platform() !== "linux") throw new Error(`no root file systems for ${platform()} on ${arch()}`);
  const missing = missingPackages(process.env.PATH ?? "", { compiler: await needsCompiler() });
  if (missing.length > 0) {
    throw new Error(`Debian packages are missing: as root, apt-get install --no-install-recommends ${missing.join(" ")}`);
  }
  const uid = process.getuid?.() ?? 0;
  const paths = localPaths(process.env, uid);
  // Processes of nodes have other ids on the machine than this process. They must be able to traverse the directories above their root, but not list them.
  await makeDirectory(paths.state, 0o711);
  await makeDirectory(paths.images, 0o755);
  const { run } = steps(process.stdout, () => performance.now());
  for (const name of ["holder", "shaper", "tap", "decoder"] as const) {
    await run(name, async () => {
      await makeDirectory(dirname(paths[name]), 0o755);
      const { built } = await buildProgram(name, { out: paths[name] });
      return built ? `installed ${paths[name]}` : "up to date";
    });
  }
  if (uid === 0) await run("AppArmor profile", () => loadProfile());
  await run("root file systems", async (say) => {
    const place = { directory: paths.images, idBase: uid === 0 ? idRange.base : 0, triplet };
    const stale = await staleImages(place);
    if (stale.length === 0 && values.fresh !== true) return "up to date";
    const built = await buildImages({ ...place, now: () => new Date(), say });
    const unused = await unusedImages(paths.images);
    for (const entry of unused) await rm(join(paths.images, entry), { recursive: true });
    const sizes = built.map((image) => `${image.name} ${Math.round(image.size_bytes / 1e6)} MB`).join(", ");
    return `${sizes === "" ? "no newer packages" : `built ${sizes}`}${unused.length === 0 ? "" : `, removed ${unused.length} old`}`;
  });
}

try {
  await main();
} catch (error) {
  console.error(`set-up stopped: ${(error as Error).message}`);
  process.exitCode = 1;
}
