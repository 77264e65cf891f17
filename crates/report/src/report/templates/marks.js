// What stands in the field of a plot besides its lines: markers of series, marks and levels.

/** Markers as in the pictures: six shapes, filled, then hollow. */
const SHAPES = [
  null, [-8, -8, 8, -8, 8, 8, -8, 8], [0, -11, 10, 8, -10, 8], [0, -12, 11, 0, 0, 12, -11, 0], [0, 11, 10, -8, -10, -8],
  [-4, -11, 4, -11, 4, -4, 11, -4, 11, 4, 4, 4, 4, 11, -4, 11, -4, 4, -11, 4, -11, -4, -4, -4],
];
/** The outline of a series' marker around a place, as a path of SVG; `reach` is half of its height. */
function marker(i, x, y, reach) {
  const corners = SHAPES[i % SHAPES.length];
  const r = reach * 0.9;
  if (!corners) return `M${x - r} ${y}A${r} ${r} 0 0 1 ${x + r} ${y}A${r} ${r} 0 0 1 ${x - r} ${y}Z`;
  const points = [];
  for (let k = 0; k < corners.length; k += 2) points.push(`${x + (corners[k] * reach) / 10} ${y + (corners[k + 1] * reach) / 10}`);
  return `M${points.join("L")}Z`;
}
const isHollow = (i) => Math.floor(i / SHAPES.length) % 2 === 1;
/** Up to so many points each has a marker; of more, those that are so many CSS pixels apart. */
const MOST_DOTS = 64, MARKERS_APART = 40, PHASES = 3;

/** Draws the markers of our series `i`, which is uPlot's `s`. */
function drawMarkers(u, s, i, { draw }, several) {
  const { ctx } = u;
  const { min, max } = u.scales.x;
  const [xs, ys] = [u.data[0], u.data[s]];
  const dots = draw === "points";
  const all = [];
  for (let k = 0; k < xs.length; k++) if (ys[k] != null && xs[k] >= min && xs[k] <= max) all.push(k);
  if (!dots && all.length > MOST_DOTS && !several) return;
  const apart = dots || all.length <= MOST_DOTS ? 0 : MARKERS_APART * devicePixelRatio;
  const reach = (dots && all.length > MOST_DOTS ? 2.2 : 3.4) * devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  ctx.clip();
  ctx.strokeStyle = css(`--series-${i % COLOURS}`);
  ctx.fillStyle = isHollow(i) ? css("--page") : ctx.strokeStyle;
  ctx.lineWidth = 1.3 * devicePixelRatio;
  // Series begin at places of their own, so that the markers of curves on one another are all seen.
  let next = all.length ? u.valToPos(xs[all[0]], "x", true) + (apart * (i % PHASES)) / PHASES : 0;
  for (const k of all) {
    const x = u.valToPos(xs[k], "x", true);
    if (apart && x < next) continue;
    next = x + apart;
    const path = new Path2D(marker(i, x, u.valToPos(ys[k], u.series[s].scale, true), reach));
    ctx.fill(path);
    if (isHollow(i)) ctx.stroke(path);
  }
  ctx.restore();
}

/** A piece of a series for its key: its line with its marker. */
function sample(i, draw) {
  const made = (tag, attributes) => Object.entries(attributes).reduce((e, [k, v]) => (e.setAttribute(k, v), e), document.createElementNS("http://www.w3.org/2000/svg", tag));
  const picture = made("svg", { viewBox: "0 0 30 12", width: 30, height: 12, "aria-hidden": "true", class: "sample" });
  if (draw !== "points") picture.append(made("path", { d: "M1 6H29", "stroke-width": 2, "stroke-dasharray": DASHES[i % DASHES.length].join(" "), class: "stroke" }));
  picture.append(made("path", { d: marker(i, 15, 6, 4), class: isHollow(i) ? "hollow stroke" : "fill", "stroke-width": 1.3 }));
  return picture;
}

/** Lines of labels that marks need above a field so wide, and the line of each: the lowest in which it has room. */
function labelLines(marks, place, widths, left, right) {
  const lines = [];
  return marks.map((mark, i) => {
    const from = Math.min(Math.max(place(mark.at) - widths[i] / 2, left), right - widths[i]);
    const span = [from, from + widths[i] + 6 * devicePixelRatio];
    let at = lines.findIndex((line) => line.every(([a, b]) => span[1] < a || b < span[0]));
    if (at < 0) at = lines.push([]) - 1;
    lines[at].push(span);
    return [at, from];
  });
}

const LABEL_LINE = 14;

/** Vertical lines with what is certain of them as bands; levels with their names at the right. */
function drawMarks(u, marks, levels) {
  const { ctx, bbox } = u;
  const place = (x) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, u.valToPos(x, "x", true)));
  const right = bbox.left + bbox.width;
  ctx.save();
  ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  const { min, max } = u.scales.x;
  const seen = marks.filter((mark) => mark.at >= min && mark.at <= max);
  for (const mark of marks) {
    if (!(mark.high > mark.low)) continue;
    ctx.fillStyle = css("--band");
    ctx.fillRect(place(mark.low), bbox.top, Math.max(devicePixelRatio, place(mark.high) - place(mark.low)), bbox.height);
  }
  ctx.strokeStyle = ctx.fillStyle = css("--text");
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  const lines = labelLines(seen, place, seen.map((mark) => ctx.measureText(mark.label).width), bbox.left, right);
  seen.forEach((mark, i) => {
    const x = place(mark.at);
    const [line, from] = lines[i];
    const up = line * LABEL_LINE * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top - up);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(mark.label, from, bbox.top - 5 * devicePixelRatio - up);
  });
  const { min: low, max: high } = u.scales.y;
  const shown = levels.filter((level) => level.at >= low && level.at <= high).sort((a, b) => b.at - a.at);
  const step = 13 * devicePixelRatio;
  const at = shown.map((level) => u.valToPos(level.at, "y", true));
  const names = at.reduce((all, y) => [...all, Math.max(y, all.length ? all.at(-1) + step : bbox.top)], []);
  for (let k = names.length - 1; k >= 0; k--) names[k] = Math.min(names[k], k + 1 < names.length ? names[k + 1] - step : bbox.top + bbox.height);
  ctx.strokeStyle = css("--quiet");
  ctx.setLineDash([devicePixelRatio, 3 * devicePixelRatio]);
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  shown.forEach((level, k) => {
    ctx.beginPath();
    ctx.moveTo(bbox.left, at[k]);
    ctx.lineTo(right, at[k]);
    ctx.lineTo(right + 10 * devicePixelRatio, names[k]);
    ctx.stroke();
    ctx.fillText(level.label, right + 13 * devicePixelRatio, names[k] + 4 * devicePixelRatio);
  });
  ctx.restore();
}

/** Room for the names of levels, in CSS pixels. */
function levelRoom(levels) {
  const ctx = document.createElement("canvas").getContext("2d");
  ctx.font = "11px system-ui, sans-serif";
  return levels.length ? Math.max(...levels.map((level) => ctx.measureText(level.label).width)) + 18 : 0;
}
