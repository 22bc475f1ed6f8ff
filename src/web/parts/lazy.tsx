import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Problem } from "./problem.tsx";

/** Returns a component that is loaded when it is first shown. @param load imports a module whose default export is the component */
export function lazy<Props extends object>(load: () => Promise<{ readonly default: ComponentType<Props> }>): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props) {
    const [Part, setPart] = useState<ComponentType<Props> | undefined>(() => loaded);
    const [error, setError] = useState<unknown>();
    const fetchPart = () => {
      setError(undefined);
      load().then(
        (module) => {
          loaded = module.default;
          setPart(() => module.default);
        },
        (problem: unknown) => setError(problem),
      );
    };
    useEffect(() => {
      if (Part === undefined) fetchPart();
    }, []);
    if (Part !== undefined) return <Part {...props} />;
    return error === undefined ? <p class="waiting">Loading…</p> : <Problem error={error} retry={fetchPart} />;
  };
}
