import { useEffect } from "preact/hooks";

/** What the browser's tab and its history call the page. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} – Labwright`;
  }, [title]);
}
