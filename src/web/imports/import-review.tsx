import { useEffect, useRef } from "preact/hooks";
import type { ImportFileData } from "../../contract/schemas/import-file.ts";
import type { IntentText } from "../intent/intent-text.ts";
import { Problem } from "../parts/problem.tsx";
import { ImportOptionFields } from "./import-option-fields.tsx";
import { ImportReport } from "./import-report.tsx";
import { type FoundImport, useImport } from "./use-import.ts";
import "./imports.css";

/** An imported lab, with its `source` for the service. */
export interface ImportedText extends IntentText {
  readonly source?: unknown;
}

interface ImportReviewProps {
  readonly found: FoundImport;
  readonly onDeploy: (lab: ImportedText) => void;
  /** Puts the new lab into the editor. */
  readonly onEdit: (lab: ImportedText) => void;
  readonly onCancel: () => void;
}

/** Shows what an import would make of a file, with its options. Nothing is stored before the user deploys the lab. */
export function ImportReview({ found, onDeploy, onEdit, onCancel }: ImportReviewProps) {
  const control = useImport(found);
  // The page before was scrolled to its file buttons: the review begins at its title.
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    title.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, []);
  const { lab, isCurrent, error } = control;
  const hasErrors = lab?.diagnostics.some(({ severity }) => severity === "error") ?? true;
  const textOf = ({ yaml, files, source }: ImportFileData): ImportedText => ({ yaml, files, source });
  return (
    <section aria-label="Import" class="import-review">
      <h1 ref={title} tabIndex={-1}>
        Import {lab?.path ?? found.source.input.filename ?? "files"}
      </h1>
      {lab !== undefined && (
        <p>
          Format {lab.format}. The new lab is named <strong>{lab.name}</strong>. Nothing is stored yet.
        </p>
      )}
      <ImportOptionFields candidates={found.candidates} {...control} />
      {error !== undefined && <Problem error={error} />}
      <div class="buttons">
        <button type="button" class="primary" disabled={!isCurrent || hasErrors} onClick={() => lab !== undefined && onDeploy(textOf(lab))}>
          Deploy
        </button>
        <button type="button" disabled={!isCurrent} onClick={() => lab !== undefined && onEdit(textOf(lab))}>
          Edit first
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
      {lab !== undefined && <Notices lab={lab} leftOut={found.source.leftOut} />}
      {lab !== undefined && <ImportReport counts={lab.counts} report={lab.report} leftOut={lab.report_left_out} />}
    </section>
  );
}

/** Missing images, problems of the new lab, and files that are not imported. */
function Notices({ lab, leftOut }: { readonly lab: ImportFileData; readonly leftOut: readonly string[] }) {
  const files = [
    ...leftOut.map((path) => `${path}: is not text`),
    ...lab.left_out.map(({ path, bytes }) => `${path}: is too large (${Math.ceil(bytes / 2 ** 20)} MiB)`),
  ];
  return (
    <>
      <List title="Images that this host does not have" hint="Replace their nodes, or add the images to the host before the start.">
        {lab.missing.map(
          ({ template, image, file, nodes }) =>
            `${image} (template ${template}) for ${listed(nodes)}${file === undefined ? "" : `: ${file}`}`,
        )}
      </List>
      <List title="Problems of the new lab" hint="Edit the text to correct them.">
        {lab.diagnostics.map(
          ({ line, severity, message, hint }) => `line ${line}: ${severity}: ${message}${hint === undefined ? "" : `. ${hint}`}`,
        )}
      </List>
      <List title="Files that are left out" hint="">
        {files}
      </List>
    </>
  );
}

function listed(nodes: readonly string[]): string {
  return nodes.length > 8 ? `${nodes.slice(0, 8).join(", ")} and ${nodes.length - 8} more` : nodes.join(", ");
}

function List({ title, hint, children }: { readonly title: string; readonly hint: string; readonly children: readonly string[] }) {
  if (children.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {children.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      {hint !== "" && <p class="hint">{hint}</p>}
    </>
  );
}
