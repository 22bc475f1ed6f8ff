import { useState } from "preact/hooks";
import type { StatusData } from "../../contract/schemas/observe.ts";
import { useModal } from "../dialog/use-modal.ts";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";
import { ImportReport } from "./import-report.tsx";
import "./imports.css";

/** Shows that a lab was imported. A click opens its report. */
export function ImportMark({ lab, source }: { readonly lab: string; readonly source: StatusData["source"] }) {
  const [isOpen, setOpen] = useState(false);
  if (source === undefined) return null;
  return (
    <>
      <button type="button" title="What the import kept, mapped and dropped" onClick={() => setOpen(true)}>
        Import report…
      </button>
      {isOpen && <ReportDialog lab={lab} onClose={() => setOpen(false)} />}
    </>
  );
}

function ReportDialog({ lab, onClose }: { readonly lab: string; readonly onClose: () => void }) {
  const dialog = useModal();
  const { data, error } = useAnswer((signal) => call("getProjectStatus", { lab, report: true }, { signal }), [lab]);
  const source = data?.source;
  return (
    <dialog ref={dialog} class="import-dialog" aria-label="Import report" onClose={onClose}>
      {error !== undefined && <Problem error={error} />}
      {source !== undefined && (
        <>
          <p>
            Imported{source.lab === undefined ? "" : ` from ${source.lab}`}, format {source.format}
            {source.imported_at === undefined ? "" : `, ${new Date(source.imported_at).toLocaleString()}`}.
          </p>
          <ImportReport counts={source.counts} report={source.report ?? []} leftOut={source.report_left_out ?? 0} />
        </>
      )}
      <div class="buttons">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </dialog>
  );
}
