// For the site that `make docs` builds: what its theme leaves out for keyboards and screen readers.

// A table that is wider than the screen scrolls with the arrow keys.
const scrollTables = () => {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) {
    table.tabIndex = table.scrollWidth > table.clientWidth ? 0 : -1;
  }
};

// So do the results of the search.
const scrollResults = () => {
  const results = document.querySelector(".md-search__scrollwrap");
  if (results) results.tabIndex = 0;
};

// The buttons of a code block are no navigation: otherwise each block is a landmark without a name.
const nameButtons = () => {
  for (const buttons of document.querySelectorAll("nav.md-code__nav:not([role])")) {
    buttons.setAttribute("role", "none");
  }
};

// The theme makes both while the page is read.
const mend = () => {
  scrollTables();
  scrollResults();
  nameButtons();
};
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
window.addEventListener("resize", scrollTables);
mend();
