import { type Inputs, useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Answer<T> {
  /** The newest that came; kept while the next is on its way. */
  readonly data: T | undefined;
  readonly error: unknown;
  readonly again: () => void;
}

/** What `ask` answers, asked when shown, when `inputs` change and by `again`. An answer that is overtaken by a later question is dropped. */
export function useAnswer<T>(ask: (signal: AbortSignal) => Promise<T>, inputs: Inputs): Answer<T> {
  const [state, setState] = useState<{ readonly data: T | undefined; readonly error: unknown }>({ data: undefined, error: undefined });
  const running = useRef<AbortController>(undefined);
  const again = useCallback(() => {
    running.current?.abort();
    const asked = new AbortController();
    running.current = asked;
    const { signal } = asked;
    ask(signal).then(
      (data) => !signal.aborted && setState({ data, error: undefined }),
      (error: unknown) => !signal.aborted && setState(({ data }) => ({ data, error })),
    );
  }, inputs);
  useEffect(() => {
    again();
    return () => running.current?.abort();
  }, [again]);
  return { ...state, again };
}
