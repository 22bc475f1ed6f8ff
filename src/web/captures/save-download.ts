import type { BrowserDownload } from "../../client/browser.ts";

/** How long the URL of the file stays valid, ms: the browser may read it some time after the click. */
const urlMs = 60_000;

/** Saves a response as a file. The page fetches it itself, so that it can show a refusal; a plain link would open the browser's error page. */
export async function saveDownload({ body, filename, mediaType }: BrowserDownload): Promise<void> {
  const bytes = await new Response(body, { headers: { "Content-Type": mediaType } }).blob();
  const url = URL.createObjectURL(bytes);
  const link = document.createElement("a");
  link.href = url;
  link.download = filename ?? "";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), urlMs);
}
