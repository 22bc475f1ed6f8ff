import type { ITheme } from "@xterm/xterm";

const dark: ITheme = {
  background: "#12161c",
  foreground: "#e3e8ef",
  cursor: "#e3e8ef",
  cursorAccent: "#12161c",
  selectionBackground: "#3a5273",
  black: "#3b4450",
  red: "#ff8f86",
  green: "#76cf95",
  yellow: "#f0b35c",
  blue: "#7fb2ea",
  magenta: "#d59bea",
  cyan: "#6fcfd6",
  white: "#d0d7e0",
  brightBlack: "#8b96a5",
  brightRed: "#ffb3ac",
  brightGreen: "#a0e3b6",
  brightYellow: "#ffd08a",
  brightBlue: "#a9cdf5",
  brightMagenta: "#e6bff4",
  brightCyan: "#9fe4e9",
  brightWhite: "#ffffff",
};

const light: ITheme = {
  background: "#ffffff",
  foreground: "#1c2430",
  cursor: "#1c2430",
  cursorAccent: "#ffffff",
  selectionBackground: "#bcd4f0",
  black: "#1c2430",
  red: "#a8211b",
  green: "#1d6b3a",
  yellow: "#8a5300",
  blue: "#245c9c",
  magenta: "#7b2f93",
  cyan: "#136a72",
  white: "#5b6675",
  brightBlack: "#55606f",
  brightRed: "#bf2b24",
  brightGreen: "#237d45",
  brightYellow: "#965c00",
  brightBlue: "#2b6cb8",
  brightMagenta: "#8e3aa9",
  brightCyan: "#177882",
  brightWhite: "#2c3642",
};

const darkSystem = matchMedia("(prefers-color-scheme: dark)");

/** Returns the colours of a terminal for the current theme of the page. */
export function terminalTheme(): ITheme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "dark" || (chosen !== "light" && darkSystem.matches) ? dark : light;
}

/** Calls `changed` when the theme of the page changes. Returns a function that removes the listener. */
export function onThemeChange(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  darkSystem.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    darkSystem.removeEventListener("change", changed);
  };
}
