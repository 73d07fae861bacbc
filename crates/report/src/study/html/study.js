"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  // Figures carry theirs as data; what has none, or is in doubt, stays last, whichever way.
  const key = (row, i) => {
    const cell = row.cells[i];
    if (!cell || cell.colSpan > 1 || cell.classList.contains("doubt")) return null;
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const text = cell.textContent;
    return text === "–" || text === "" ? null : text;
  };
  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const sign = head.ariaSort === "ascending" ? -1 : 1;
      heads.forEach((other) => { other.ariaSort = null; });
      head.ariaSort = sign > 0 ? "ascending" : "descending";
      const rows = [...body.rows].map((row) => [key(row, i), row]);
      rows.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)));
      rows.forEach(([, row]) => row.classList.remove("first"));
      body.append(...rows.map(([, row]) => row));
    });
  });
}
