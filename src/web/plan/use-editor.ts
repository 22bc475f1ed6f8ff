import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Diagnostic } from "../../contract/schemas/project.ts";
import type { PlanEvent, PlanState } from "./control/plan-state.ts";
import { namesOnce, problemsOf } from "./editor/editor-help.ts";
import { type YamlEditor, yamlEditor } from "./editor/yaml-editor.ts";

/** Opens the YAML editor in an element, and keeps it and the state of the page in step. Returns the problems of the text, too. */
export function useEditor(
  state: PlanState,
  dispatch: (event: PlanEvent) => void,
  mayChange: boolean,
): readonly [RefObject<HTMLDivElement | null>, (line: number) => void, readonly Diagnostic[]] {
  const [problems, setProblems] = useState<readonly Diagnostic[]>([]);
  const container = useRef<HTMLDivElement>(null);
  const editor = useRef<YamlEditor>(undefined);
  const { files } = state.intent;
  const latestFiles = useRef(files);
  latestFiles.current = files;
  useEffect(() => {
    const opened = yamlEditor(container.current!, {
      text: state.intent.yaml,
      label: "The lab as YAML",
      readOnly: !mayChange,
      check: async (yaml) => {
        const found = await problemsOf(yaml, latestFiles.current);
        setProblems(found);
        return found;
      },
      names: namesOnce(),
      onChange: (yaml) => dispatch({ type: "typed", yaml }),
    });
    editor.current = opened;
    return () => opened.close();
  }, []);
  useEffect(() => editor.current?.recheck(), [files]);
  // Before the next paint, so that no key is pressed between.
  useLayoutEffect(() => {
    if (state.replacement !== undefined) editor.current?.setText(state.replacement.yaml);
  }, [state.replacement]);
  return [container, (line) => editor.current?.goTo(line), problems];
}
