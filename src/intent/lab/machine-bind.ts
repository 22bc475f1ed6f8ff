/** A file or folder of the service's machine that a node sees at a path of its own. */
export interface MachineBind {
  /** Absolute, on the machine. */
  readonly source: string;
  /** Absolute, in the node. */
  readonly target: string;
  /** The node may write. */
  readonly writable: boolean;
}

/** Returns the notation of containerlab, with rw only for a writable one: "/etc/hosts:/etc/hosts.machine", "/srv/data:/data:rw". */
export function bindText({ source, target, writable }: MachineBind): string {
  return `${source}:${target}${writable ? ":rw" : ""}`;
}

/** Returns the bind of a text as bindText writes it. */
export function machineBind(text: string): MachineBind {
  const [source = "", target = "", mode] = text.split(":");
  return { source, target, writable: mode === "rw" };
}
