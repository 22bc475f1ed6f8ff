import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { findImages } from "../src/hosts/local/images/images.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";

export interface PodmanContainer extends AsyncDisposable {
  /** Runs `podman exec CONTAINER argv`, to its end. */
  exec(argv: readonly string[]): Promise<void>;
  /** Runs `podman cp`. A path in the container begins with a colon. */
  copy(from: string, to: string): Promise<void>;
}

/** The machine may have control groups of version 1 only, which crun refuses. */
const podman = ["--runtime", "runc", "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"];

/** Starts a container of podman with the root file system of template linux. */
export async function podmanContainer(): Promise<PodmanContainer> {
  const { images } = localPaths(process.env, process.getuid?.() ?? 0);
  const base = (await findImages(images)).find(({ name }) => name === "base");
  if (base === undefined) throw new Error("there is no image base: labwright setup builds it");
  const name = `labwright-bench-${process.pid}`;
  const settings = ["--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096", "--stop-timeout", "0"];
  execFileSync("podman", [...podman, "run", "-d", "--name", name, ...settings, "--rootfs", `${base.rootfs}:O`, "sleep", "infinity"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const run = async (...argv: readonly string[]): Promise<void> => {
    const [code] = await once(spawn("podman", [...podman, ...argv], { stdio: ["ignore", "ignore", "inherit"] }), "exit");
    if (code !== 0) throw new Error(`podman ${argv.join(" ")} ended with ${code}`);
  };
  const place = (path: string) => (path.startsWith(":") ? `${name}${path}` : path);
  return {
    exec: (argv) => run("exec", name, ...argv),
    copy: (from, to) => run("cp", place(from), place(to)),
    [Symbol.asyncDispose]: () => run("rm", "-f", name),
  };
}
