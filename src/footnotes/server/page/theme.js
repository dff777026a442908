// Runs before the first paint, so that neither a theme nor a direction of writing flashes. Not a module: modules wait.
(() => {
  const root = document.documentElement;
  const spoken = ["en", "de", "fr", "es", "zh", "ar"];
  let language = "";
  try {
    const chosen = localStorage.getItem("footnotes.theme");
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
    if (localStorage.getItem("footnotes.folded") === "yes") root.dataset.folded = "yes";
    language = localStorage.getItem("footnotes.language") || "";
  } catch {
    // Storage may be forbidden; the system's own choices hold then.
  }
  const wanted = [language, ...navigator.languages].map((name) => name.slice(0, 2));
  root.lang = wanted.find((name) => spoken.includes(name)) || "en";
  root.dir = root.lang === "ar" ? "rtl" : "ltr";
})();
