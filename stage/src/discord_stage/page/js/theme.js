// Dark or light: as the system says, until somebody chooses.

const KEPT = "stage.theme";
const system = matchMedia("(prefers-color-scheme: light)");

export const themeChoice = () => localStorage.getItem(KEPT) ?? "system";

export function applyTheme() {
  const choice = themeChoice();
  const light = choice === "light" || (choice === "system" && system.matches);
  document.documentElement.dataset.theme = light ? "light" : "dark";
}

export function chooseTheme(choice) {
  if (choice === "system") localStorage.removeItem(KEPT);
  else localStorage.setItem(KEPT, choice);
  applyTheme();
}

export const isLight = () => document.documentElement.dataset.theme === "light";

system.addEventListener("change", applyTheme);
