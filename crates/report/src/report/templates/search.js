// The search in the bar: names of sections, findings and terms, each with what is said of it.

const found = document.getElementById("found");
const search = document.getElementById("search");
/** Most results at once: more are no answer, but a wish for another word. */
const MOST_FOUND = 12;

/** All places that can be found: what each is called, where it belongs, and the words in it. */
const places = [...document.querySelectorAll("section[id] > h2, [data-term], figure[id] > figcaption > b")].map((place) => {
  const target = place.closest("[id]");
  const chapter = place.closest("section")?.querySelector("h2")?.firstChild.textContent.trim() ?? "";
  const name = place.dataset.term ?? place.firstChild.textContent.trim();
  const own = place.matches("h2") ? place.textContent : target.textContent;
  return { id: target.id, name, chapter: chapter === name ? "" : chapter, words: `${chapter} ${name} ${own}`.toLowerCase(), names: `${chapter} ${name} ${target.id}`.toLowerCase() };
});

/** Opens what hides a place and goes there. */
function reveal(id) {
  const target = document.getElementById(id);
  for (let d = target?.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
  target?.scrollIntoView();
}

function hideFound() {
  found.hidden = true;
  found.replaceChildren();
}

function look() {
  const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return hideFound();
  const all = places.filter(({ words }) => wanted.every((word) => words.includes(word)));
  // Places that are called so come before those that only mention it.
  const called = ({ names }) => wanted.filter((word) => names.includes(word)).length;
  all.sort((a, b) => called(b) - called(a));
  const links = all.slice(0, MOST_FOUND).map(({ id, name, chapter }) => {
    const link = element("a", "", name, element("small", "", chapter && ` ${chapter}`));
    link.href = `#${id}`;
    link.addEventListener("click", () => (hideFound(), setTimeout(() => reveal(id))));
    return link;
  });
  const left = all.length - links.length;
  found.replaceChildren(...links, element("p", "", all.length === 0 ? "Nothing has these words." : left ? `${left} more: add a word.` : ""));
  found.hidden = false;
}

search.parentElement.hidden = false;
search.addEventListener("input", look);
search.addEventListener("focus", look);
document.addEventListener("click", (e) => search.parentElement.contains(e.target) || hideFound());
document.addEventListener("keydown", (e) => {
  const typing = e.target.matches?.("input, select, textarea");
  if (e.key === "/" && !typing) return e.preventDefault(), search.focus();
  if (!search.parentElement.contains(e.target)) return;
  const links = [...found.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (e.key === "Escape") hideFound(), search.focus(), hideFound();
  else if (e.key === "ArrowDown") e.preventDefault(), links[Math.min(at + 1, links.length - 1)]?.focus();
  else if (e.key === "ArrowUp") e.preventDefault(), (links[at - 1] ?? search).focus();
  else if (e.key === "Enter" && e.target === search) links[0]?.click(), links[0] && (location.hash = links[0].hash);
});
addEventListener("hashchange", () => reveal(decodeURIComponent(location.hash.slice(1))));
