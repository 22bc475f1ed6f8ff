import { useEffect } from "preact/hooks";

/** Sets the document title, which the browser shows in the tab and in its history. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} – Labwright`;
  }, [title]);
}
