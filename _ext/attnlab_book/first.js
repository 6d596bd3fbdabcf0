(() => {
  const page = document.documentElement.dataset;
  try {
    page.mode = localStorage.getItem("mode") || "auto";
  } catch {
    page.mode = "auto";
  }
  page.theme = page.mode !== "auto" ? page.mode : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  // All fonts of the text: of two cuts one may come in time and the other not, and a line would then mix two faces.
  // The sans first: it draws the figures, and the last of four is the one that a slow line loses.
  const names = ["saw-sans", "saw-serif", "saw-serif-bold", "saw-serif-italic"];
  if (document.querySelector('meta[name="attn-formulas"]')) names.push("stix-two-math");
  for (const name of names) {
    const link = document.createElement("link");
    Object.assign(link, { rel: "preload", as: "font", type: "font/woff2", href: `${page.content_root}_static/fonts/${name}.woff2` });
    // From the file system a browser asks for fonts otherwise than from a server.
    if (location.protocol !== "file:") link.crossOrigin = "";
    document.head.append(link);
  }
})();
