import { useState } from "preact/hooks";

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

/** Switches between the light, dark and system theme; the choice is kept in local storage. */
export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(() => apply(stored()));
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  return (
    <button type="button" title={`Colours: ${theme}. Change to ${next}`} onClick={() => setTheme(apply(next))}>
      {{ system: "◐", light: "☀", dark: "☾" }[theme]}
      <span class="visually-hidden">Colours: {theme}</span>
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
