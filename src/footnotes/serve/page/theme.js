// Runs before the first paint, so that a chosen theme does not flash. Not a module: modules wait for the document.
(() => {
  try {
    const chosen = localStorage.getItem("footnotes.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
    if (localStorage.getItem("footnotes.folded") === "yes") document.documentElement.dataset.folded = "yes";
  } catch {
    // Storage may be forbidden; the system's own choice holds then.
  }
})();
