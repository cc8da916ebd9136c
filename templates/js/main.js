// Loads the modules that a page needs: those with an element in it. Each module starts by itself.

const modules = {
  "[data-board]": "./board.js",
  "[data-chooser]": "./chooser.js",
  "[data-settings]": "./settings.js",
  "[data-compare]": "./compare.js",
  "[data-copy]": "./copy.js",
  "figure[data-figure]": "./figures.js",
  "[data-run-files]": "./run_files.js",
  "table[data-domain], table[data-matrix]": "./domain_tables.js",
  "table.sortable": "./sortable.js",
};

for (const [selector, path] of Object.entries(modules)) {
  if (document.querySelector(selector)) import(path).then((module) => module.start());
}
