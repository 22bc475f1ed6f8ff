import { findSections, type SearchRow } from "./find.ts";

/** The script of the documentation: the theme chosen in the labs' pages, and the search. Pages work without it. */

const site = new URL(".", /* @vite-ignore */ import.meta.url);
const theme = localStorage.getItem("labwright-theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset["theme"] = theme;

const field = document.querySelector<HTMLInputElement>("input[type=search]")!;
const found = document.querySelector<HTMLElement>("#found")!;
let loading: Promise<readonly SearchRow[]> | undefined;

async function load(): Promise<readonly SearchRow[]> {
  const response = await fetch(new URL("search.json", site));
  if (!response.ok) throw new Error(`search.json: status ${response.status}`);
  return (await response.json()) as readonly SearchRow[];
}

async function show(): Promise<void> {
  const query = field.value.trim();
  found.hidden = query === "";
  if (query === "") return;
  try {
    loading ??= load();
    const rows = await loading;
    if (query !== field.value.trim()) return;
    const lines = findSections(rows, query).map(({ row, excerpt }) => line(row, excerpt));
    found.replaceChildren(...(lines.length > 0 ? lines : [`No section contains "${query}".`]));
  } catch (error) {
    loading = undefined;
    found.replaceChildren(`The search index did not load (${String(error)}). Type again to retry.`);
  }
}

function line({ address, page, heading }: SearchRow, excerpt: string): HTMLElement {
  const link = document.createElement("a");
  link.href = new URL(address, site).href;
  link.textContent = heading === page ? page : `${page}: ${heading}`;
  // A result on the same page changes only the anchor: the results would stay in front of it.
  link.addEventListener("click", () => {
    found.hidden = true;
  });
  const text = document.createElement("small");
  text.textContent = excerpt;
  const paragraph = document.createElement("p");
  paragraph.append(link, text);
  return paragraph;
}

field.addEventListener("input", () => void show());
field.form?.addEventListener("submit", (event) => {
  event.preventDefault();
  found.querySelector("a")?.click();
});
field.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  field.value = "";
  found.hidden = true;
});
