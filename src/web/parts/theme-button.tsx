import { useState } from "preact/hooks";

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

/** Light, dark, or as the system has it; remembered by this browser. */
export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(() => apply(stored()));
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  return (
    <button type="button" title={`Colours: ${theme}. Change to ${next}`} onClick={() => setTheme(apply(next))}>
      {{ system: "◐", light: "☀", dark: "☾" }[theme]}
      <span class="unseen">Colours: {theme}</span>
    </button>
  );
}

function stored(): Theme {
  const word = localStorage.getItem("labwright-theme");
  return themes.find((theme) => theme === word) ?? "system";
}

function apply(theme: Theme): Theme {
  localStorage.setItem("labwright-theme", theme);
  document.documentElement.dataset["theme"] = theme;
  return theme;
}
