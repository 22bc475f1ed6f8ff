import { type Inputs, useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Answer<T> {
  /** The newest that came; kept while the next is on its way. */
  readonly data: T | undefined;
  readonly error: unknown;
  /** Asks anew; while a question runs, once more when it is answered: however often it is called, one answer after another is shown. */
  readonly again: () => void;
}

interface Question {
  readonly stop: AbortController;
  once: boolean;
}

/** What `ask` answers, asked when shown, when `inputs` change and by `again`. */
export function useAnswer<T>(ask: (signal: AbortSignal) => Promise<T>, inputs: Inputs): Answer<T> {
  const [state, setState] = useState<{ readonly data: T | undefined; readonly error: unknown }>({ data: undefined, error: undefined });
  const running = useRef<Question>(undefined);
  const again = useCallback(() => {
    if (running.current !== undefined) {
      running.current.once = true;
      return;
    }
    const question: Question = { stop: new AbortController(), once: false };
    running.current = question;
    const { signal } = question.stop;
    const answered = (next: (before: { readonly data: T | undefined }) => { readonly data: T | undefined; readonly error: unknown }) => {
      if (signal.aborted) return;
      running.current = undefined;
      setState(next);
      if (question.once) again();
    };
    ask(signal).then(
      (data) => answered(() => ({ data, error: undefined })),
      (error: unknown) => answered(({ data }) => ({ data, error })),
    );
  }, inputs);
  useEffect(() => {
    again();
    return () => {
      running.current?.stop.abort();
      running.current = undefined;
    };
  }, [again]);
  return { ...state, again };
}
