import type { BrowserDownload } from "../../client/browser.ts";

/** The browser may still read what it saves a while after the click, ms. */
const keptMs = 60_000;

/** Saves what was fetched as a file. Fetched by the page, so that a refusal is told here, and not by a page of the browser's own. */
export async function saveDownload({ body, filename, mediaType }: BrowserDownload): Promise<void> {
  const bytes = await new Response(body, { headers: { "Content-Type": mediaType } }).blob();
  const url = URL.createObjectURL(bytes);
  const link = document.createElement("a");
  link.href = url;
  link.download = filename ?? "";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), keptMs);
}
