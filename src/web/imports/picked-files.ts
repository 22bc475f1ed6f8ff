/** A file that the user has chosen or dropped, with its path within the chosen folder. */
export interface PickedFile {
  readonly path: string;
  readonly file: File;
}

/** Maximum number of files of a dropped folder. The service reads no more. */
const maxFiles = 4096;

/** Returns the chosen files. Those of a folder have paths. */
export function filesOfInput(input: HTMLInputElement): readonly PickedFile[] {
  return [...(input.files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** Returns the dropped files, with those in dropped folders. Call it before the event ends: the browser then empties the list. */
export async function filesOfDrop({ items, files }: DataTransfer): Promise<readonly PickedFile[]> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  if (!entries.some(({ isDirectory }) => isDirectory)) return [...files].map((file) => ({ path: file.name, file }));
  const found: PickedFile[] = [];
  for (const entry of entries) await collect(entry, entry.name, found);
  return found;
}

async function collect(entry: FileSystemEntry, path: string, found: PickedFile[]): Promise<void> {
  if (found.length >= maxFiles) throw new Error(`The folder has more than ${maxFiles} files. Drop the folder of the lab alone.`);
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ path, file });
    return;
  }
  if (entry.name === ".git" || entry.name === "node_modules") return;
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // A reader returns a folder in parts, the last of which is empty.
    const part = await new Promise<readonly FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return;
    for (const each of part) await collect(each, `${path}/${each.name}`, found);
  }
}
