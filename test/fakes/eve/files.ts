import { naturally } from "./php.ts";

export interface LabFile {
  readonly text: string;
  readonly modified: Date;
}

/** The folders and lab files of a host; paths begin with a slash, "/" is the root. */
export class Files {
  readonly #folders = new Set<string>(["/"]);
  readonly #files = new Map<string, LabFile>();
  /** Files with a .lock beside them. */
  readonly locks = new Set<string>();
  readonly #clock: () => Date;

  constructor(clock: () => Date) {
    this.#clock = clock;
  }

  /** 0 is there, 1 is not, 2 cannot be: EVE-NG's own numbers. */
  checkFolder(path: string): 0 | 1 | 2 {
    if (!/^\/[/A-Za-z0-9_\s-]*$/.test(`/labs${path}`)) return 2;
    return this.#folders.has(plain(path)) ? 0 : 1;
  }

  hasFolder(path: string): boolean {
    return this.#folders.has(plain(path));
  }

  addFolder(path: string): void {
    const parts = plain(path).split("/").slice(1);
    for (let count = 1; count <= parts.length; count++) this.#folders.add(`/${parts.slice(0, count).join("/")}`);
  }

  removeFolder(path: string): void {
    for (const each of this.#folders) if (inside(each, path)) this.#folders.delete(each);
    for (const each of this.#files.keys()) if (inside(each, path)) this.#files.delete(each);
  }

  moveFolder(from: string, to: string): void {
    for (const each of [...this.#folders]) {
      if (!inside(each, from)) continue;
      this.#folders.delete(each);
      this.#folders.add(to + each.slice(from.length));
    }
    for (const [each, file] of [...this.#files]) {
      if (!inside(each, from)) continue;
      this.#files.delete(each);
      this.#files.set(to + each.slice(from.length), file);
    }
  }

  read(path: string): LabFile | undefined {
    return this.#files.get(path);
  }

  write(path: string, text: string): void {
    this.#files.set(path, { text, modified: this.#clock() });
  }

  rename(from: string, to: string): void {
    const file = this.#files.get(from);
    if (file === undefined) return;
    this.#files.delete(from);
    this.#files.set(to, file);
  }

  remove(path: string): void {
    this.#files.delete(path);
  }

  paths(under = "/"): readonly string[] {
    return [...this.#files.keys()].filter((path) => inside(path, under)).sort();
  }

  folders(): readonly string[] {
    return [...this.#folders].filter((each) => each !== "/").sort();
  }

  foldersIn(path: string): readonly string[] {
    return [...this.#folders]
      .filter((each) => each !== "/" && parentOf(each) === plain(path))
      .map(nameOf)
      .sort(naturally);
  }

  labsIn(path: string): readonly string[] {
    return [...this.#files.keys()]
      .filter((each) => parentOf(each) === plain(path) && /^.+\.unl$/.test(nameOf(each)))
      .map(nameOf)
      .sort(naturally);
  }
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** dirname */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

export function inFolder(folder: string, name: string): string {
  return `${plain(folder) === "/" ? "" : plain(folder)}/${name}`;
}

function plain(path: string): string {
  return `/${path.split("/").filter(Boolean).join("/")}`;
}

function inside(path: string, folder: string): boolean {
  return folder === "/" || path === folder || path.startsWith(`${folder}/`);
}
