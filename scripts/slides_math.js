// Formulas as drawings, in the slides only; nothing that would load a file.
window.MathJax = {
  svg: { fontCache: "global" },
  options: { enableMenu: false, ignoreHtmlClass: "attnlab-figure|attnlab-plot" },
};
