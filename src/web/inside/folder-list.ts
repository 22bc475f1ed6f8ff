/** An entry of a folder in a node. */
export interface FolderEntry {
  readonly name: string;
  readonly kind: "folder" | "file" | "link" | "other";
  /** Bytes; meaningless for folders. */
  readonly size: number;
  /** ms since the epoch. */
  readonly modifiedAt: number;
}

/** Prints a line for each entry of the folder $1. The slash at its end shows that the name has no line break. Both GNU's and BusyBox' find and stat understand it. */
const script = 'cd -- "$1" && exec find . -mindepth 1 -maxdepth 1 -exec stat -c "%F|%s|%Y|%n/" -- {} +';

export function listCommand(folder: string): readonly string[] {
  return ["/bin/sh", "-c", script, "sh", folder];
}

const kinds: Readonly<Record<string, FolderEntry["kind"]>> = {
  directory: "folder",
  "regular file": "file",
  "regular empty file": "file",
  "symbolic link": "link",
};

/** Returns the entries in the output of listCommand, folders first, by name. Names with line breaks are left out. */
export function folderEntries(output: string): readonly FolderEntry[] {
  const entries = output.split("\n").flatMap((line): readonly FolderEntry[] => {
    const [, type, size, time, name] = /^([a-z][a-z -]*)\|(\d+)\|(\d+)\|\.\/(.+)\/$/.exec(line) ?? [];
    if (type === undefined || name === undefined) return [];
    return [{ name, kind: kinds[type] ?? "other", size: Number(size), modifiedAt: Number(time) * 1000 }];
  });
  const rank = ({ kind }: FolderEntry) => (kind === "folder" ? 0 : 1);
  return entries.sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** Returns the path of an entry; ".." is the folder above. */
export function pathIn(folder: string, name: string): string {
  const parts = folder.split("/").filter(Boolean);
  return `/${(name === ".." ? parts.slice(0, -1) : [...parts, name]).join("/")}`;
}
