(() => {
  const page = document.documentElement.dataset;
  try {
    page.mode = localStorage.getItem("mode") || "auto";
  } catch {
    page.mode = "auto";
  }
  page.theme = page.mode !== "auto" ? page.mode : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
})();
