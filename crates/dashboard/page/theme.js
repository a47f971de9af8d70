// Applies the chosen theme before the first paint, so that the page does not flash in the other one.
try {
  const chosen = localStorage.getItem("toolyard-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Without storage the system's theme applies.
}
