import { useEffect, useRef, useState } from "preact/hooks";
import type { LabEntry } from "../../contract/schemas/observe.ts";
import type { ImportData } from "../../contract/schemas/project.ts";
import { call } from "../service/api.ts";
import { Problem } from "../parts/problem.tsx";
import { goTo } from "../parts/route.ts";

interface ImportLabProps {
  readonly labs: readonly LabEntry[];
  /** The source that is chosen at first: a lab's path. */
  readonly source: string | undefined;
  readonly onClose: () => void;
}

interface ReportLine {
  readonly path: string;
  readonly level: "kept" | "mapped" | "dropped";
  readonly message: string;
}

/** Makes a managed copy of a lab that the host has, and tells what became of each part of it. */
export function ImportLab({ labs, source, onClose }: ImportLabProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  // What the service does not manage yet is what most people come for.
  const sources = [...labs].filter(({ exists }) => exists).sort((a, b) => Number(a.right !== undefined) - Number(b.right !== undefined));
  const [chosen, setChosen] = useState(source ?? sources[0]?.lab ?? "");
  const [path, setPath] = useState("");
  const [state, setState] = useState<{ readonly busy?: true; readonly error?: unknown; readonly done?: ImportData }>({});
  const submit = async () => {
    setState({ busy: true });
    try {
      const manifest = path.trim() === "" ? {} : { manifest: JSON.stringify({ version: 1, mode: "import", lab: pathOf(path) }) };
      setState({ done: await call("importProject", { lab: chosen, ...manifest }) });
    } catch (error) {
      setState({ error });
    }
  };
  return (
    <dialog ref={dialog} onCancel={onClose} aria-label="Import a lab">
      {state.done === undefined ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void submit();
          }}
        >
          <h2>Import a lab</h2>
          <p>
            The lab is cloned into a copy of your own, with YAML that says what it is. The lab that it is made from stays as it is; the
            copy's nodes stay stopped until you start them.
          </p>
          <label>
            Lab on the host
            <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
              {sources.map(({ lab, right }) => (
                <option key={lab} value={lab}>
                  {right === undefined ? lab : `${lab} (managed here)`}
                </option>
              ))}
            </select>
          </label>
          <label>
            Path of the copy
            <input
              value={path}
              placeholder={`${chosen}-import`}
              onInput={(event) => setPath(event.currentTarget.value)}
              autocomplete="off"
            />
          </label>
          {state.error !== undefined && <Problem error={state.error} />}
          <div class="buttons">
            <button type="button" onClick={onClose}>
              Cancel
            </button>
            <button type="submit" class="primary" disabled={state.busy === true || chosen === ""}>
              {state.busy === true ? "Importing…" : "Import"}
            </button>
          </div>
        </form>
      ) : (
        <Imported done={state.done} onClose={onClose} />
      )}
    </dialog>
  );
}

function Imported({ done, onClose }: { readonly done: ImportData; readonly onClose: () => void }) {
  const lab = done.managed_lab ?? done.lab ?? "";
  const report = (done.source as { readonly report?: readonly ReportLine[] } | undefined)?.report ?? [];
  const changed = report.filter(({ level }) => level !== "kept");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        goTo({ page: "lab", lab, view: "topology" });
      }}
    >
      <h2>Imported as {lab}</h2>
      {changed.length === 0 ? (
        <p>Everything that the source's definition says is in the copy.</p>
      ) : (
        <>
          <p>All but this is in the copy as it was in the source:</p>
          <ul class="report">
            {changed.map(({ path, level, message }) => (
              <li key={`${path} ${message}`}>
                <span class={level === "dropped" ? "mark warn" : "mark"}>{level}</span> {message} <small>{path}</small>
              </li>
            ))}
          </ul>
        </>
      )}
      <div class="buttons">
        <button type="button" onClick={onClose}>
          Close
        </button>
        <button type="submit" class="primary">
          Open it
        </button>
      </div>
    </form>
  );
}

/** A lab's path begins with a slash, whether one is typed or not. */
function pathOf(text: string): string {
  const path = text.trim();
  return path.startsWith("/") ? path : `/${path}`;
}
