import { useMemo } from "preact/hooks";
import type { Template } from "../../../contract/schemas/catalogue.ts";
import { useAnswer } from "../../parts/use-answer.ts";
import { call } from "../../service/api.ts";

export interface Catalogue {
  /** Templates that the host can run. */
  readonly templates: readonly Template[];
  readonly networkTypes: readonly string[];
  /** Types of nodes, by template. */
  readonly types: ReadonlyMap<string, string>;
}

/** Reads the parts that the host offers, if the user may add them. */
export function useCatalogue(mayEdit: boolean): Catalogue {
  const { data } = useAnswer(
    async (signal) =>
      mayEdit
        ? Promise.all([call("listTemplates", { provisioned: "true" }, { signal }), call("listNetworkTypes", {}, { signal })])
        : undefined,
    [mayEdit],
  );
  return useMemo(() => {
    const [{ templates = [] } = {}, { types = [] } = {}] = data ?? [];
    return { templates, networkTypes: types.map(({ type }) => type), types: new Map(templates.map(({ id, type }) => [id, type])) };
  }, [data]);
}
