import { useEffect, useRef, useState } from "preact/hooks";
import type { Lab } from "../../intent/lab/lab.ts";
import type { IntentText } from "../intent/intent-text.ts";
import type { PlanControl } from "../plan/control/use-plan.ts";
import type { DrawnEdit } from "./lab-edits.ts";

/** Loaded when the first edit is drawn: reading and writing labs is larger than the drawing itself. */
const tools = () => import("./draw.ts");
export type DrawTools = Awaited<ReturnType<typeof tools>>;

export interface Drawing {
  /** The lab of the text, or of its last version without errors; undefined while the host has all of it. */
  readonly lab: Lab | undefined;
  /** Why the last edit was not possible. */
  readonly problem: string | undefined;
  /** Draws edits into the text, or shows and returns why they are not possible. @param prunes the edits delete parts, so applying them must delete these on the host */
  readonly draw: (edits: EditsOf, prunes?: boolean) => Promise<string | undefined>;
  /** As draw, but returns why the edit is not possible, and shows it nowhere. */
  readonly attempt: (edits: EditsOf) => Promise<string | undefined>;
}

/** Returns the edits of a lab; called with the lab of the current text. */
export type EditsOf = (lab: Lab, tools: DrawTools, text: IntentText) => readonly DrawnEdit[] | Promise<readonly DrawnEdit[]>;

/** Edits of a lab by its drawing: each one changes the text. @param isDrawn whether the text has changes that the host does not have */
export function useDrawing({ state, dispatch }: PlanControl, isDrawn: boolean): Drawing {
  const { intent } = state;
  const [problem, setProblem] = useState<string>();
  const latest = useRef<IntentText>(intent);
  latest.current = intent;
  const queue = useRef<Promise<unknown>>(Promise.resolve());
  const lab = useEditedLab(isDrawn ? intent : undefined);
  const attempt = (editsOf: EditsOf, prunes = false): Promise<string | undefined> => {
    const next = queue.current.then(async () => {
      const loaded = await tools();
      try {
        const text = latest.current;
        const edits = await editsOf(loaded.readableLab(text), loaded, text);
        const drawn = loaded.draw(text, edits);
        latest.current = drawn;
        dispatch({ type: "drawn", intent: drawn, prunes });
        setProblem(undefined);
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    });
    queue.current = next;
    return next;
  };
  const draw = async (editsOf: EditsOf, prunes = false) => {
    const refused = await attempt(editsOf, prunes);
    setProblem(refused);
    return refused;
  };
  return { lab, problem, draw, attempt: (editsOf) => attempt(editsOf) };
}

/** Returns the lab of a text, or while the text has errors the one before. */
function useEditedLab(intent: IntentText | undefined): Lab | undefined {
  const [lab, setLab] = useState<Lab>();
  useEffect(() => {
    if (intent === undefined) return setLab(undefined);
    let isCurrent = true;
    void tools().then(({ labOf }) => {
      if (isCurrent) setLab((before) => labOf(intent) ?? before);
    });
    return () => {
      isCurrent = false;
    };
  }, [intent]);
  return intent === undefined ? undefined : lab;
}
