import { useState } from "preact/hooks";

interface SideFilesProps {
  /** Path → text. */
  readonly files: Readonly<Record<string, string>>;
  readonly readOnly: boolean;
  readonly onChange: (path: string, text: string) => void;
}

/** Shows and edits the files that a lab's text names, one at a time. Most of them are startup configurations. */
export function SideFiles({ files, readOnly, onChange }: SideFilesProps) {
  const [chosen, setChosen] = useState("");
  const [name, setName] = useState("");
  const paths = Object.keys(files).sort();
  if (paths.length === 0 && readOnly) return null;
  const text = files[chosen];
  return (
    <div class="side-files">
      <div class="buttons">
        {paths.length > 0 && (
          <label class="choice">
            Edit file
            <select value={text === undefined ? "" : chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
              <option value="">none shown</option>
              {paths.map((path) => (
                <option key={path} value={path}>
                  {path}
                </option>
              ))}
            </select>
          </label>
        )}
        {!readOnly && (
          <form
            class="buttons"
            onSubmit={(event) => {
              event.preventDefault();
              const path = name.trim();
              if (path === "") return;
              if (files[path] === undefined) onChange(path, "");
              setChosen(path);
              setName("");
            }}
          >
            <input
              aria-label="Name of a new file"
              placeholder="r1.conf"
              value={name}
              onInput={(event) => setName(event.currentTarget.value)}
              spellcheck={false}
            />
            <button type="submit" disabled={name.trim() === ""}>
              Add file
            </button>
          </form>
        )}
      </div>
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
