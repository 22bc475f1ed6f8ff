import { dirname, join } from "node:path";

/** The directories of the embedded host. All can be moved by environment variables, so that tests and several services share only images. */
export interface LocalPaths {
  /** Users, definitions, node disks, the service's database and certificate. On disk; others may not enter. LABWRIGHT_STATE_DIR. */
  readonly state: string;
  /** Sockets and pid files of running labs. LABWRIGHT_RUN_DIR. */
  readonly run: string;
  /** Root file systems by content, shared read-only. LABWRIGHT_IMAGE_DIR. */
  readonly images: string;
  /** Disks of virtual machines, one directory an image, put there by the administrator. LABWRIGHT_VM_IMAGE_DIR. */
  readonly vmImages: string;
  /** The holder binary, built by set-up. LABWRIGHT_HOLDER. */
  readonly holder: string;
  /** The shaper binary, built by set-up. LABWRIGHT_SHAPER; by default beside the holder. */
  readonly shaper: string;
  /** The program that takes packets, built by set-up. LABWRIGHT_TAP; by default beside the holder. */
  readonly tap: string;
  /** The program that confines what decodes packets, built by set-up. LABWRIGHT_DECODER; by default beside the holder. */
  readonly decoder: string;
}

export function localPaths(env: Readonly<Record<string, string | undefined>>, uid: number): LocalPaths {
  const home = env["HOME"] ?? "/root";
  const state =
    env["LABWRIGHT_STATE_DIR"] ??
    (uid === 0 ? "/var/lib/labwright" : join(env["XDG_STATE_HOME"] ?? join(home, ".local/state"), "labwright"));
  const run = env["LABWRIGHT_RUN_DIR"] ?? (uid === 0 ? "/run/labwright" : join(env["XDG_RUNTIME_DIR"] ?? state, "labwright-run"));
  const holder = env["LABWRIGHT_HOLDER"] ?? join(state, "bin", "labwright-holder");
  return {
    state,
    run,
    images: env["LABWRIGHT_IMAGE_DIR"] ?? join(state, "images"),
    vmImages: env["LABWRIGHT_VM_IMAGE_DIR"] ?? join(state, "vm-images"),
    holder,
    shaper: env["LABWRIGHT_SHAPER"] ?? join(dirname(holder), "labwright-shaper"),
    tap: env["LABWRIGHT_TAP"] ?? join(dirname(holder), "labwright-tap"),
    decoder: env["LABWRIGHT_DECODER"] ?? join(dirname(holder), "labwright-decoder"),
  };
}
