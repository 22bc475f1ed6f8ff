import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { Diagnostic } from "../../contract/schemas/project.ts";
import type { ExampleLab } from "../gallery/example-lab.ts";
import { Gallery } from "../gallery/gallery.tsx";
import { FileButton } from "../imports/file-button.tsx";
import { type ImportedText, ImportReview } from "../imports/import-review.tsx";
import { filesOfDrop } from "../imports/picked-files.ts";
import { UrlField } from "../imports/url-field.tsx";
import { Problem } from "../parts/problem.tsx";
import { useTitle } from "../parts/use-title.ts";
import { ProblemList } from "../plan/editor/problem-list.tsx";
import "../plan/plan.css";
import { nameFault } from "./name-fault.ts";
import { type NewLabControl, type NewLabPart, useNewLab } from "./use-new-lab.ts";

/** Creates a lab from YAML that is typed, or from files that are chosen or dropped on the page. */
export function NewLab() {
  useTitle("New lab");
  const control = useNewLab();
  const { yaml, setYaml, addFiles, pasted, check, deploy, busy, found, editText, deployText, cancelImport } = control;
  const [dropping, setDropping] = useState(false);
  if (found !== undefined) {
    const edit = (lab: ImportedText) => editText(lab, "This is the imported lab. It is not stored before you deploy it.");
    return <ImportReview found={found} onDeploy={deployText} onEdit={edit} onCancel={cancelImport} />;
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a button can choose the files, too
    <section
      class={dropping ? "dropping" : ""}
      onDragOver={(event) => {
        event.preventDefault();
        setDropping(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setDropping(false);
      }}
      onDrop={(event) => {
        event.preventDefault();
        setDropping(false);
        if (event.dataTransfer !== null) addFiles(filesOfDrop(event.dataTransfer));
      }}
    >
      <h1>New lab</h1>
      <EmptyLab {...control} />
      <Gallery
        isBusy={busy !== undefined}
        onRun={control.run}
        onEdit={control.edit}
        answerOf={(example) => <ExampleAnswer control={control} example={example} />}
      />
      <h2>From YAML</h2>
      <p>
        Write or paste the lab, or drop its YAML file here, with the startup configurations that it names, its folder, or a zip of all of
        them. Labs of containerlab, EVE-NG, GNS3, CML, VIRL, netlab, Kathara, Graphviz and Mermaid are converted; you see the result first.
      </p>
      <label class="visually-hidden" for="yaml">
        The lab as YAML
      </label>
      <textarea
        id="yaml"
        class="code"
        rows={24}
        spellcheck={false}
        value={yaml}
        onInput={(event) => setYaml(event.currentTarget.value)}
        onPaste={(event) => pasted(event.clipboardData?.getData("text/plain") ?? "")}
      />
      <FileChips {...control} />
      <UrlField isBusy={busy !== undefined} onUrl={control.fromUrl} />
      <div class="buttons">
        <button type="button" onClick={check} disabled={busy !== undefined}>
          Check
        </button>
        <button type="button" class="primary" onClick={deploy} disabled={busy !== undefined}>
          Deploy
        </button>
        <FileButton label="Choose files…" onFiles={addFiles} />
        <FileButton label="Choose a folder…" isFolder onFiles={addFiles} />
      </div>
      <Answer control={control} part="text" takenHint="Change the name in the text, or open the existing lab and edit it there." />
    </section>
  );
}

interface AnswerProps {
  readonly control: NewLabControl;
  readonly part: NewLabPart;
  /** The next step for a name that is taken. */
  readonly takenHint: string;
  readonly children?: ComponentChildren;
}

/** The progress or the answer of a request, beside the button that was pressed. It is scrolled into view. */
function Answer({ control, part, takenHint, children }: AnswerProps) {
  const { busy, notice, error } = control;
  const place = useRef<HTMLDivElement>(null);
  const isHere = control.part === part;
  useEffect(() => {
    if (isHere) place.current?.scrollIntoView({ block: "nearest" });
  }, [isHere, notice, error]);
  return (
    <div class="answer" ref={place}>
      <output>{isHere ? (busy ?? notice) : ""}</output>
      {isHere && error !== undefined && <Refused control={control} error={error} />}
      {isHere && error instanceof LabwrightError && error.code === "lab_exists" && <p class="hint">{takenHint}</p>}
      {isHere && children}
    </div>
  );
}

/** The answer to a request about an example. Offers another name if a lab has its own. */
function ExampleAnswer({ control, example }: { readonly control: NewLabControl; readonly example: ExampleLab }) {
  const { freeName, run } = control;
  return (
    <Answer
      control={control}
      part={`example ${example.name}`}
      takenHint="Open the lab in the list of labs, or run the example with another name."
    >
      {freeName !== undefined && (
        <button type="button" onClick={() => run(example, freeName)}>
          Run as {freeName}
        </button>
      )}
    </Answer>
  );
}

/** Lists the problems of the text, each of which leads to its line; or shows another error. */
function Refused({ control: { part, yaml, setYaml }, error }: { readonly control: NewLabControl; readonly error: unknown }) {
  const problems = useMemo(() => diagnosticsOf(error), [error]);
  // The problems of another text have no lines in the editor.
  if (problems.length === 0 || part !== "text") return <Problem error={error} />;
  const showLine = (line: number) => {
    const text = document.querySelector<HTMLTextAreaElement>("#yaml")!;
    const lines = text.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
    text.focus();
    text.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  };
  return (
    <div class="problem" role="alert">
      <strong>The text cannot be deployed.</strong>
      <ProblemList problems={problems} text={yaml} onLine={showLine} onFix={(edit) => setYaml(edit(yaml))} />
    </div>
  );
}

function diagnosticsOf(error: unknown): readonly Diagnostic[] {
  if (!(error instanceof LabwrightError) || error.code !== "invalid_intent") return [];
  return (error.data?.["diagnostics"] ?? []) as readonly Diagnostic[];
}

/** Creates a lab without nodes, which are then drawn. */
function EmptyLab(control: NewLabControl) {
  const { busy, deployEmpty } = control;
  const [name, setName] = useState("");
  const fault = nameFault(name.trim());
  const field = useRef<HTMLInputElement>(null);
  // On a phone the keyboard would cover the examples.
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) field.current?.focus({ preventScroll: true });
  }, []);
  return (
    <>
      <form
        class="buttons"
        onSubmit={(event) => {
          event.preventDefault();
          deployEmpty(name.trim());
        }}
      >
        <input
          ref={field}
          aria-label="Name of the new lab"
          placeholder="Name of the new lab"
          value={name}
          aria-invalid={fault !== undefined}
          aria-describedby="name-fault"
          onInput={(event) => setName(event.currentTarget.value)}
          spellcheck={false}
          autocomplete="off"
        />
        <button type="submit" class="primary" disabled={busy !== undefined || name.trim() === "" || fault !== undefined}>
          Draw it
        </button>
        <span class="hint">An empty lab: add nodes and links in its drawing.</span>
        <button type="button" onClick={() => document.querySelector<HTMLElement>("#yaml")?.focus()}>
          From YAML or a file of another tool…
        </button>
      </form>
      <output id="name-fault" class={fault === undefined ? "" : "name-fault"}>
        {fault}
      </output>
      <Answer control={control} part="empty" takenHint="Choose another name, or open the existing lab and draw in it." />
    </>
  );
}

/** Lists the files beside the YAML, with buttons to remove them. */
function FileChips({ files, removeFile }: NewLabControl) {
  const names = Object.keys(files).sort();
  if (names.length === 0) return null;
  return (
    <ul class="chips" aria-label="Files">
      {names.map((name) => (
        <li key={name}>
          {name}
          <button type="button" class="plain" aria-label={`Remove ${name}`} onClick={() => removeFile(name)}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
