import { useRef, useState } from "preact/hooks";
import { saveDownload } from "../captures/save-download.ts";
import { useAnswer } from "../parts/use-answer.ts";
import { type CopyOptions, readFromNode, writeToNode } from "./copy-stream.ts";
import { type FolderEntry, folderEntries, listCommand } from "./folder-list.ts";
import { runInNode } from "./run-in-node.ts";
import { firstFile } from "./tar.ts";

export interface NodeFiles {
  readonly folder: string;
  /** undefined: not read yet. */
  readonly entries: readonly FolderEntry[] | undefined;
  /** Why the folder could not be read, or the last copy failed. */
  readonly error: unknown;
  /** The running copy, for people. */
  readonly work: string | undefined;
  /** The result of the last copy. */
  readonly notice: string | undefined;
  readonly open: (folder: string) => void;
  readonly again: () => void;
  /** Saves a file, or a folder as a tar archive. */
  readonly download: (path: string) => Promise<void>;
  /** Writes files into the folder. */
  readonly upload: (files: readonly File[]) => Promise<void>;
  readonly cancel: () => void;
}

interface CopyState {
  readonly work?: string;
  readonly notice?: string;
  readonly error?: unknown;
}

/** The shown folder of a node, and the copies from and to it. */
export function useNodeFiles(lab: string, node: string): NodeFiles {
  const [folder, setFolder] = useState("/");
  const [copy, setCopy] = useState<CopyState>({});
  const running = useRef<AbortController>(undefined);
  const list = useAnswer(
    async (signal) => ({ folder, entries: folderEntries(await runInNode(lab, node, listCommand(folder), signal)) }),
    [lab, node, folder],
  );
  const run = async (label: string, work: (options: CopyOptions) => Promise<string>) => {
    if (running.current !== undefined) return;
    const controller = new AbortController();
    const { signal } = controller;
    running.current = controller;
    const onBytes = (bytes: number) => setCopy({ work: `${label}: ${(bytes / 2 ** 20).toFixed(1)} MiB` });
    setCopy({ work: `${label}…` });
    try {
      setCopy({ notice: await work({ lab, node, signal, onBytes }) });
    } catch (error) {
      setCopy(signal.aborted ? { notice: "Cancelled." } : { error });
    } finally {
      running.current = undefined;
    }
  };
  const download = (path: string) =>
    run(`Downloading ${path}`, async (options) => {
      const name = path.split("/").at(-1) ?? "";
      const archive = await readFromNode(options, path);
      const file = await firstFile(archive);
      const [body, filename] = file === undefined ? [archive.stream(), `${name}.tar`] : [file.stream(), name];
      await saveDownload({ body, filename, mediaType: "application/octet-stream" });
      return `${filename} is downloaded.`;
    });
  const upload = (files: readonly File[]) =>
    run(`Uploading ${files.length === 1 ? files[0]!.name : `${files.length} files`}`, async (options) => {
      for (const file of files) await writeToNode(options, folder, file);
      list.again();
      return `${files.map(({ name }) => name).join(", ")} ${files.length === 1 ? "is" : "are"} in ${folder}.`;
    });
  return {
    folder,
    // The entries of another folder are not shown while this one is read.
    entries: list.data?.folder === folder ? list.data.entries : undefined,
    error: copy.error ?? list.error,
    work: copy.work,
    notice: copy.notice,
    open: (wanted) => {
      setCopy({});
      setFolder(wanted.startsWith("/") ? wanted.replace(/(.)\/+$/, "$1") : `/${wanted}`);
    },
    again: () => {
      setCopy({});
      list.again();
    },
    download,
    upload: async (files) => {
      if (files.length > 0) await upload(files);
    },
    cancel: () => running.current?.abort(),
  };
}
