import { execFile } from "node:child_process";
import { Failure } from "../../../contract/errors.ts";
import type { LocalImage } from "../images/images.ts";
import { machineTrouble } from "../machine/machine-trouble.ts";

/** Time limit, ms; a hundred configurations take a fraction of it. */
const patienceMs = 10_000;
/** A complaint about one line. vtysh prints it only after it has opened the text. */
const complaint = /^line \d+: /m;
/** Maximum output, bytes. A text may contain commands of vtysh that print. */
const maxOutputBytes = 8 << 20;

/**
 * The image is mounted in a mount namespace of this call. vtysh gets the text as a file, because it reads no pipe, and may write nothing: `output file`
 * is one of its commands.
 */
const script = `mount -t overlay overlay -o "ro,lowerdir=$1" "$2" && mount -t tmpfs -o "size=64m,mode=755" tmpfs "$2/tmp" || exit 125
cat > "$2/tmp/config" || exit 125
chmod 644 "$2/tmp/config"
ulimit -t 8 && ulimit -f 0 && ulimit -c 0 && ulimit -v 2000000 || exit 125
root=$2
shift 2
exec chroot "$@" "$root" /usr/bin/vtysh -C -f /tmp/config`;

/**
 * Checks a configuration with vtysh of an image: `vtysh -C`, which talks to no daemon. It runs without privileges, network and other processes, in the
 * image. Returns its complaints, such as `line 2: % Unknown command[17]:  ip adress 10.0.0.1/24`, and the output of commands in the text, which vtysh also
 * writes to its error output. Throws host_error.
 */
export function runVtysh({ layers, rootfs }: Pick<LocalImage, "layers" | "rootfs">, text: string): Promise<string> {
  const root = process.getuid?.() === 0;
  const apart = ["--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child"];
  const argv = [...(root ? [] : ["--user", "--map-root-user"]), ...apart, "sh", "-c", script, "sh"];
  const more = [layers.map(escaped).join(":"), rootfs, ...(root ? ["--userspec=65534:65534"] : [])];
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
  return new Promise((resolve, reject) => {
    const options = { timeout: patienceMs, killSignal: "SIGKILL", maxBuffer: maxOutputBytes, env } as const;
    const child = execFile("unshare", [...argv, ...more], options, (error, _stdout, stderr) => {
      const code = error === null ? 0 : (error as { readonly code?: unknown }).code;
      if (code === 0 || (isVtyshCode(code) && complaint.test(stderr))) return resolve(stderr);
      const trouble = error === null ? undefined : machineTrouble(error);
      if (trouble?.code === "overloaded") return reject(trouble);
      const message =
        error?.killed === true
          ? `it did not end in ${patienceMs / 1000} s, or printed more than ${maxOutputBytes >> 20} MiB`
          : stderr.trim().slice(-300) || `code ${String(code)}`;
      reject(new Failure("host_error", `vtysh, which checks configurations, does not run: ${message}`, { data: { host: { message } } }));
    });
    // A program that ends without reading its input reports that by its exit code.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(text);
  });
}

/**
 * vtysh exits with the code of the last mistake in the text: 1 and 13 warning, 2 unknown, 3 ambiguous, 4 incomplete. Codes of the shell, of `chroot` and
 * of signals are from 125.
 */
function isVtyshCode(code: unknown): boolean {
  return typeof code === "number" && code < 100;
}

/** Escapes a directory for the option lowerdir of an overlay. */
function escaped(path: string): string {
  return path.replace(/[\\:,]/g, "\\$&");
}
