// What a reader can do with the page: sort and filter tables, open evidence. Without this script the page has everything but
// the evidence, with static pictures in place of plots.

const plots = JSON.parse(document.getElementById("plots").textContent);

/** Draws what has not been drawn in a part of the page. */
function drawIn(part) {
  part.querySelectorAll(".plot").forEach((place) => {
    if (place.uplot || (place.closest("details.evidence") && !place.closest("details.evidence").open)) return;
    place.hidden = false;
    draw(place, plots);
    // The picture stays for paper.
    place.closest("figure")?.classList.add("live");
  });
}

document.querySelectorAll("details.evidence").forEach((details) => {
  details.hidden = false;
  details.addEventListener("toggle", () => details.open && drawIn(details));
});
drawIn(document);

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  document.querySelectorAll(".plot").forEach((place) => place.uplot && draw(place, plots));
});

/** The number of a cell in base units, or its text; null where it is unknown or does not apply. */
function key(row, column) {
  const { value } = row.cells[column].dataset;
  if (value === undefined) return null;
  return value !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
}

/** Sorts by a column; what is unknown stays last in either direction. */
function sort(table, column, ascending) {
  const body = table.tBodies[0];
  const order = (a, b) => {
    const [x, y] = [key(a, column), key(b, column)];
    if (x === null || y === null) return (x === null) - (y === null);
    const less = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return ascending ? less : -less;
  };
  body.append(...[...body.rows].sort(order));
}

document.querySelectorAll("table.sortable").forEach((table) => {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = element("button", "", "", ...heading.childNodes);
    button.type = "button";
    button.title = "Sort by this column";
    heading.append(button);
    button.addEventListener("click", () => {
      const ascending = heading.ariaSort !== "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      sort(table, column, ascending);
    });
  });
});

document.querySelectorAll("input.filter").forEach((input) => {
  const bodies = [...document.getElementById(input.dataset.table).tBodies];
  const rows = bodies.flatMap((body) => [...body.rows]).filter((row) => !row.matches(".group"));
  const words = rows.map((row) => row.textContent.toLowerCase());
  input.closest("p").hidden = false;
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase().split(/\s+/);
    rows.forEach((row, i) => (row.hidden = !wanted.every((word) => words[i].includes(word))));
  });
});
