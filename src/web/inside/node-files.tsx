import { useRef, useState } from "preact/hooks";
import { Problem } from "../parts/problem.tsx";
import { type FolderEntry, pathIn } from "./folder-list.ts";
import { type NodeFiles, useNodeFiles } from "./use-node-files.ts";
import "./node-files.css";

interface NodeFilesProps {
  readonly lab: string;
  /** Key of the node, which runs. */
  readonly node: string;
}

/** The files of a running node: its folders, downloads and uploads. */
export default function NodeFilesView({ lab, node }: NodeFilesProps) {
  const files = useNodeFiles(lab, node);
  const [wanted, setWanted] = useState<string>();
  const input = useRef<HTMLInputElement>(null);
  const { folder, entries, error, work, notice } = files;
  const isBusy = work !== undefined;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files are dropped anywhere in it; the button does the same
    <div
      class="node-files"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void files.upload([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <form
        class="buttons"
        onSubmit={(event) => {
          event.preventDefault();
          if (wanted !== undefined) files.open(wanted);
          setWanted(undefined);
        }}
      >
        <input aria-label="Folder" value={wanted ?? folder} spellcheck={false} onInput={(event) => setWanted(event.currentTarget.value)} />
        <button type="submit">Go</button>
      </form>
      {error !== undefined && <Problem error={error} retry={files.again} />}
      {entries === undefined && error === undefined && <p class="hint">Reading…</p>}
      {entries !== undefined && <Entries files={files} entries={entries} isBusy={isBusy} />}
      <div class="buttons">
        <button type="button" disabled={isBusy} onClick={() => input.current?.click()}>
          Upload…
        </button>
        <button type="button" disabled={isBusy || folder === "/"} onClick={() => void files.download(folder)} title="As a tar archive">
          Download the folder
        </button>
        {isBusy && (
          <button type="button" onClick={files.cancel}>
            Cancel
          </button>
        )}
        <output>{work ?? notice}</output>
      </div>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={`Files for ${folder}`}
        onChange={(event) => {
          void files.upload([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
    </div>
  );
}

interface EntriesProps {
  readonly files: NodeFiles;
  readonly entries: readonly FolderEntry[];
  readonly isBusy: boolean;
}

function Entries({ files: { folder, open, download }, entries, isBusy }: EntriesProps) {
  return (
    <section class="node-files-list" aria-label={`Files in ${folder}`}>
      <table class="rows">
        <tbody>
          {folder !== "/" && (
            <tr>
              <th scope="row">
                <button type="button" class="plain" onClick={() => open(pathIn(folder, ".."))}>
                  .. <span class="visually-hidden">the folder above</span>
                </button>
              </th>
              <td />
              <td />
            </tr>
          )}
          {entries.map(({ name, kind, size, modifiedAt }) => (
            <tr key={name}>
              <th scope="row">
                {kind === "folder" || kind === "link" ? (
                  <button type="button" class="plain" onClick={() => open(pathIn(folder, name))}>
                    {name}
                    {kind === "folder" ? "/" : " →"}
                  </button>
                ) : (
                  name
                )}
              </th>
              <td>
                <small title={new Date(modifiedAt).toLocaleString()}>{kind === "file" ? sizeText(size) : kind}</small>
              </td>
              <td>
                {(kind === "file" || kind === "folder") && (
                  <button type="button" class="plain" disabled={isBusy} onClick={() => void download(pathIn(folder, name))}>
                    Download<span class="visually-hidden"> {name}</span>
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {entries.length === 0 && <p class="hint">The folder is empty.</p>}
    </section>
  );
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 2 ** 20 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
