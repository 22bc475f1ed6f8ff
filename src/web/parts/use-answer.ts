import { type Inputs, useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Answer<T> {
  /** The newest response; kept while the next request runs. */
  readonly data: T | undefined;
  readonly error: unknown;
  /** Sends the request again. While a request runs, calls are merged into one further request after its response. */
  readonly again: () => void;
}

interface Request {
  readonly controller: AbortController;
  repeat: boolean;
}

/** Runs `ask` when the component is shown, when `inputs` change and on `again`. Returns its newest result. */
export function useAnswer<T>(ask: (signal: AbortSignal) => Promise<T>, inputs: Inputs): Answer<T> {
  const [state, setState] = useState<{ readonly data: T | undefined; readonly error: unknown }>({ data: undefined, error: undefined });
  const running = useRef<Request>(undefined);
  const again = useCallback(() => {
    if (running.current !== undefined) {
      running.current.repeat = true;
      return;
    }
    const request: Request = { controller: new AbortController(), repeat: false };
    running.current = request;
    const { signal } = request.controller;
    const answered = (next: (before: { readonly data: T | undefined }) => { readonly data: T | undefined; readonly error: unknown }) => {
      if (signal.aborted) return;
      running.current = undefined;
      setState(next);
      if (request.repeat) again();
    };
    ask(signal).then(
      (data) => answered(() => ({ data, error: undefined })),
      (error: unknown) => answered(({ data }) => ({ data, error })),
    );
  }, inputs);
  useEffect(() => {
    again();
    return () => {
      running.current?.controller.abort();
      running.current = undefined;
    };
  }, [again]);
  return { ...state, again };
}
