import type { ImportControl, ImportOptions } from "./use-import.ts";

/** The choices of an import. */
export function ImportOptionFields({ candidates, options, setOptions }: ImportControl & { readonly candidates: readonly string[] }) {
  return (
    <div class="import-options">
      {candidates.length > 0 && (
        <label>
          Lab of the source
          <select value={options.path} onChange={(event) => setOptions({ ...options, path: event.currentTarget.value })}>
            <option value="">Choose one of {candidates.length}…</option>
            {candidates.map((path) => (
              <option key={path} value={path}>
                {path}
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        Nodes whose image is not there
        <select
          value={options.substitute}
          onChange={(event) => setOptions({ ...options, substitute: event.currentTarget.value as ImportOptions["substitute"] })}
        >
          <option value="">stay as they are</option>
          <option value="frr">become FRR routers, Linux hosts and switches</option>
          <option value="linux">become Linux nodes and switches</option>
        </select>
      </label>
      <label class="choice">
        <input
          type="checkbox"
          checked={options.translateConfigs}
          onChange={(event) => setOptions({ ...options, translateConfigs: event.currentTarget.checked })}
        />{" "}
        Translate configurations in the language of IOS for FRR routers that replace other nodes
      </label>
    </div>
  );
}
