import { useState } from "preact/hooks";
import type { LinkQuality, LinkQualitySides } from "../../contract/schemas/observe.ts";
import { saveQuality } from "../intent/edit-intent.ts";
import { call } from "../service/api.ts";

interface ChangeState {
  readonly busy?: string;
  readonly notice?: string;
  readonly error?: unknown;
}

/** The changes of a link from its panel. */
export interface LinkChanges extends ChangeState {
  /** The quality that the host reads back after it was set; undefined before the first change. */
  readonly effective: LinkQualitySides | undefined;
  /** Sets the quality of each direction. A direction without a quality is cleared. @param save also writes it into the intent */
  readonly setQuality: (wanted: QualityBySide, save: boolean) => void;
  /** Suspends or resumes one side, or without a side both. */
  readonly setSuspended: (suspended: boolean, side?: "a" | "b") => void;
}

interface QualityBySide {
  readonly a: LinkQuality | undefined;
  readonly b: LinkQuality | undefined;
}

/** @param onChanged called after each change, even if it failed */
export function useLinkChanges(lab: string, endpoints: readonly [string, string], onChanged: () => void): LinkChanges {
  const [effective, setEffective] = useState<LinkQualitySides>();
  const [state, setState] = useState<ChangeState>({});
  const run = async (busy: string, work: () => Promise<string>) => {
    setState({ busy });
    try {
      setState({ notice: await work() });
    } catch (error) {
      setState({ error });
    }
    onChanged();
  };
  return {
    ...state,
    effective,
    setQuality: (wanted, save) =>
      void run("Applying…", async () => {
        const { a, b } = wanted;
        const sides = { ...(a !== undefined && { a }), ...(b !== undefined && { b }) };
        const answer = await call("applyLinkQuality", { lab, endpoints, ...sides, ...(save && { save }) });
        setEffective(answer.effective);
        if (!save) return "Applied to the running link.";
        await saveQuality(lab, endpoints, wanted);
        return "Applied, and saved to the intent.";
      }),
    setSuspended: (suspended, side) =>
      void run(suspended ? "Suspending…" : "Resuming…", async () => {
        await call("setLinkSuspend", { lab, endpoints, suspended, ...(side && { side }) });
        return suspended ? "Suspended: the link has no carrier." : "Resumed.";
      }),
  };
}
