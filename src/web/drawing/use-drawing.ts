import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Lab } from "../../intent/lab/lab.ts";
import type { IntentText } from "../intent/intent-text.ts";
import type { PlanControl } from "../plan/control/use-plan.ts";
import type { DrawnEdit } from "./lab-edits.ts";
import { useEditQueue } from "./use-edit-queue.ts";

export type DrawTools = typeof import("./draw.ts");

/** Loaded when the first edit is drawn: reading and writing labs is larger than the drawing itself. */
let loadedTools: DrawTools | undefined;

async function loadTools(): Promise<DrawTools> {
  loadedTools ??= await import("./draw.ts");
  return loadedTools;
}

export interface Drawing {
  /** The lab of the text, or of its last version without errors; undefined while the host has all of it. */
  readonly lab: Lab | undefined;
  /** Why the last edit was not possible. */
  readonly problem: string | undefined;
  /** Draws edits into the text, or shows and returns why they are not possible. @param prunes the edits delete parts, so applying them must delete these on the host */
  readonly draw: (edits: EditsOf, prunes?: boolean) => Promise<string | undefined>;
  /** As draw, but returns why the edit is not possible, and shows it nowhere. */
  readonly attempt: (edits: EditsOf) => Promise<string | undefined>;
  /** Reads what the edits need from the service, then draws them. Other edits do not wait for that. */
  readonly drawAfter: <T>(read: (text: IntentText) => Promise<T>, edits: (lab: Lab, found: T) => readonly DrawnEdit[]) => Promise<void>;
  /** Loads the code for edits: the user is about to edit. */
  readonly prepare: () => void;
}

/** Returns the edits of a lab; called with the lab of the current text, which the drawing shows at that time. */
export type EditsOf = (lab: Lab, tools: DrawTools) => readonly DrawnEdit[];

/** Edits of a lab by its drawing: each one changes the text. @param isDrawn whether the text has changes that the host does not have */
export function useDrawing({ state, dispatch }: PlanControl, isDrawn: boolean): Drawing {
  const { intent } = state;
  const [problem, setProblem] = useState<string>();
  const [tools, setTools] = useState(loadedTools);
  const latest = useRef<IntentText>(intent);
  latest.current = intent;
  const queue = useEditQueue(tools !== undefined);
  const lab = useEditedLab(tools, isDrawn ? intent : undefined);
  const prepare = () => {
    if (tools === undefined) void loadTools().then(setTools, (error: unknown) => setProblem(messageOf(error)));
  };
  useEffect(() => {
    if (isDrawn) prepare();
  }, [isDrawn]);
  // Edits that were made right before the drawing was left are not lost.
  useLayoutEffect(
    () => () => {
      const left = queue.takeAll();
      const runAll = () => {
        for (const { run } of left) run();
      };
      if (left.length > 0) void loadTools().then(runAll);
    },
    [],
  );
  const edit = (editsOf: EditsOf, prunes: boolean): string | undefined => {
    try {
      const [loaded, text] = [loadedTools!, latest.current];
      const edits = editsOf(loaded.readableLab(text), loaded);
      setProblem(undefined);
      if (edits.length === 0) return undefined;
      const drawn = loaded.draw(text, edits);
      latest.current = drawn;
      dispatch({ type: "drawn", intent: drawn, prunes });
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  };
  const attempt = (editsOf: EditsOf, prunes = false): Promise<string | undefined> => {
    prepare();
    return new Promise((resolve) => queue.add({ run: () => resolve(edit(editsOf, prunes)) }));
  };
  const draw = async (editsOf: EditsOf, prunes = false) => {
    const refused = await attempt(editsOf, prunes);
    if (refused !== undefined) setProblem(refused);
    return refused;
  };
  const drawAfter: Drawing["drawAfter"] = async (read, edits) => {
    try {
      const found = await read(latest.current);
      await draw((lab) => edits(lab, found));
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return { lab, problem, draw, attempt: (editsOf) => attempt(editsOf), drawAfter, prepare };
}

/** Returns the lab of a text, or while the text has errors the one before. */
function useEditedLab(tools: DrawTools | undefined, intent: IntentText | undefined): Lab | undefined {
  const last = useRef<Lab>(undefined);
  if (intent === undefined) last.current = undefined;
  else last.current = tools?.labOf(intent) ?? last.current;
  return last.current;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
