import { useState } from "preact/hooks";
import { useCapabilities } from "../parts/use-capabilities.ts";

interface UrlFieldProps {
  readonly isBusy: boolean;
  readonly onUrl: (url: string) => void;
}

/** Imports a lab of another tool by its URL. Empty if the administrator of the service allows no host. */
export function UrlField({ isBusy, onUrl }: UrlFieldProps) {
  const { importUrlHosts = [] } = useCapabilities() ?? {};
  const [url, setUrl] = useState("");
  if (importUrlHosts.length === 0) return null;
  return (
    <form
      class="buttons"
      onSubmit={(event) => {
        event.preventDefault();
        onUrl(url.trim());
      }}
    >
      <input
        type="url"
        aria-label="URL of a lab"
        placeholder="https://…"
        value={url}
        onInput={(event) => setUrl(event.currentTarget.value)}
        spellcheck={false}
        autocomplete="off"
      />
      <button type="submit" disabled={isBusy || url.trim() === ""}>
        Import from URL
      </button>
      <span class="hint">Allowed: {importUrlHosts.join(", ")}</span>
    </form>
  );
}
