import { useState } from "preact/hooks";
import type { LabEntry } from "../../contract/schemas/observe.ts";
import type { ImportData } from "../../contract/schemas/project.ts";
import { useModal } from "../dialog/use-modal.ts";
import { Problem } from "../parts/problem.tsx";
import { goTo } from "../parts/route.ts";
import { call } from "../service/api.ts";

interface DuplicateLabProps {
  readonly labs: readonly LabEntry[];
  /** Path of the lab that is chosen initially. */
  readonly source: string | undefined;
  readonly onClose: () => void;
}

interface ReportLine {
  readonly path: string;
  readonly level: "kept" | "mapped" | "dropped";
  readonly message: string;
}

/** Creates a managed copy of a lab that exists on the host, and shows the import report. */
export function DuplicateLab({ labs, source, onClose }: DuplicateLabProps) {
  const dialog = useModal();
  // Labs that the service does not manage come first: they are the usual source.
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
    <dialog ref={dialog} onCancel={onClose} aria-label="Duplicate a lab">
      {state.done === undefined ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void submit();
          }}
        >
          <h2>Duplicate a lab</h2>
          <p>
            Creates a copy of the lab that you own, with its definition as YAML. The source lab is not changed. The nodes of the copy stay
            stopped until you start them.
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
              {state.busy === true ? "Duplicating…" : "Duplicate"}
            </button>
          </div>
        </form>
      ) : (
        <Duplicated done={state.done} onClose={onClose} />
      )}
    </dialog>
  );
}

function Duplicated({ done, onClose }: { readonly done: ImportData; readonly onClose: () => void }) {
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
      <h2>Duplicated as {lab}</h2>
      {changed.length === 0 ? (
        <p>The copy has all parts of the source.</p>
      ) : (
        <>
          <p>The copy is equal to the source, except for these parts:</p>
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
          Open
        </button>
      </div>
    </form>
  );
}

/** Returns a lab's path from typed text: with a leading slash. */
function pathOf(text: string): string {
  const path = text.trim();
  return path.startsWith("/") ? path : `/${path}`;
}
