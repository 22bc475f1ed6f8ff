import { useEffect } from "preact/hooks";
import type { PlanControl } from "./control/use-plan.ts";
import { SideFiles } from "./side-files.tsx";
import { useEditor } from "./use-editor.ts";
import "./plan.css";

interface TextPaneProps {
  readonly control: PlanControl;
  /** The line to show; a new object each time. */
  readonly line: { readonly line: number } | undefined;
  readonly onClose: () => void;
}

/** The text of the lab beside its drawing: each edit of one appears in the other. */
export default function TextPane({ control: { state, dispatch, mayEdit }, line, onClose }: TextPaneProps) {
  const [editor, goToLine] = useEditor(state, dispatch, mayEdit);
  useEffect(() => {
    if (line !== undefined) goToLine(line.line);
  }, [line]);
  return (
    <section class="text-pane" aria-label="Text of the lab">
      <h2>
        Text
        <button type="button" class="close" onClick={onClose} aria-label="Close the text">
          ×
        </button>
      </h2>
      <div ref={editor} class="editor" />
      <SideFiles
        files={state.intent.files}
        readOnly={!mayEdit}
        onChange={(path, content) => dispatch({ type: "file-changed", path, content })}
      />
    </section>
  );
}
