import { useState } from "preact/hooks";

interface SideFilesProps {
  /** Path → text. */
  readonly files: Readonly<Record<string, string>>;
  readonly readOnly: boolean;
  readonly onChange: (path: string, text: string) => void;
}

/** The files that a lab's text names, startup configurations mostly: one at a time, to read and to change. */
export function SideFiles({ files, readOnly, onChange }: SideFilesProps) {
  const [chosen, setChosen] = useState("");
  const paths = Object.keys(files).sort();
  if (paths.length === 0) return null;
  const text = files[chosen];
  return (
    <div class="side-files">
      <label class="choice">
        File beside it
        <select value={text === undefined ? "" : chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
          <option value="">none shown</option>
          {paths.map((path) => (
            <option key={path} value={path}>
              {path}
            </option>
          ))}
        </select>
      </label>
      {text !== undefined && (
        <textarea
          class="code"
          rows={14}
          spellcheck={false}
          readOnly={readOnly}
          aria-label={chosen}
          value={text}
          onInput={(event) => onChange(chosen, event.currentTarget.value)}
        />
      )}
    </div>
  );
}
