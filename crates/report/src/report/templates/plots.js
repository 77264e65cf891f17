"use strict";
// Draws the page's plots: data are in the script element "plots", a place in the page names which of them it shows.

/** A count of bytes in binary units. */
function bytes(x) {
  const unit = x < 1024 ? 0 : Math.min(3, Math.floor(Math.log2(x) / 10));
  return `${+(x / 1024 ** unit).toFixed(3)} ${["B", "KiB", "MiB", "GiB"][unit]}`;
}
const short = (x) => (x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6) ? `${+x.toPrecision(4)}` : `${+x.toFixed(Math.abs(x) >= 1000 ? 0 : Math.abs(x) >= 10 ? 2 : 3)}`);
const SHOW = { bytes, share: (x) => `${short(x * 100)} %`, number: short };

/** About `most` round numbers between two: powers of two on an axis of doublings, of bytes multiples of one. */
function ticks(axis, log2, low, high, most) {
  if (log2 && high / low >= 8) {
    const found = [];
    const [first, last] = [Math.ceil(Math.log2(low) - 1e-9), Math.floor(Math.log2(high) + 1e-9)];
    const every = Math.ceil((last - first + 1) / most);
    for (let power = first; power <= last; power += every) found.push(2 ** power);
    return found;
  }
  const least = (high - low) / most;
  const decade = 10 ** Math.floor(Math.log10(least));
  const step = axis.measure === "bytes" ? 2 ** Math.ceil(Math.log2(Math.max(least, 1))) : [1, 2, 5, 10].find((f) => f * decade >= least * 0.999) * decade;
  const multiples = (of) => Array.from({ length: Math.floor(high / of + 1e-6) - Math.ceil(low / of) + 1 }, (_, i) => (Math.ceil(low / of) + i) * of);
  // Powers of two are so far apart that one alone may fit, which is no scale.
  const round = multiples(step);
  return round.length < 2 && axis.measure === "bytes" ? multiples(step / 2) : round;
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const DASHES = [[], [7, 3], [2, 3], [8, 3, 2, 3]];
const COLOURS = 6;
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
/** A plot that is narrower, in CSS pixels, has labels of marks below each other. */
const NARROW = 500;
/** Room for three lines of labels above a field, in CSS pixels; for more the plot grows. */
const USUAL_TOP = 50;
/** Room for a label of each axis, in CSS pixels. */
const SPACE = { x: 75, y: 34 };

/** An element with a class, a text and children. */
function element(tag, name, text, ...children) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

/** An axis of uPlot: `log2` is a scale's own affair, everything else is how it looks. */
function axisOf(axis, scale, side, log2) {
  const across = side % 2 === 0;
  return {
    scale, side, label: axis.label || undefined, labelSize: 18, labelGap: across ? 2 : 0, font: FONT, labelFont: FONT, stroke: css("--text"), size: across ? 28 : 58, gap: 4,
    grid: { show: side !== 1, stroke: css("--rule"), width: across ? 0 : 1 }, ticks: { stroke: css("--quiet"), width: 1, size: 4 }, border: { show: across, stroke: css("--quiet"), width: 1 },
    splits: (u, _axis, low, high) => ticks(axis, log2, low, high, Math.max(2, Math.floor((across ? u.bbox.width : u.bbox.height) / devicePixelRatio / SPACE[across ? "x" : "y"]))),
    // uPlot would leave out most powers of two.
    filter: (_u, at) => at,
    values: (_u, at) => at.map(SHOW[axis.measure]),
  };
}

/** A scale that is asked for all of its data shows `whole`, and for a part that part. */
const spanning = (whole) => (u, min, max) => (min === u.data[0][0] && max === u.data[0].at(-1) ? whole : [min, max]);

/** What uPlot is to draw of series over one axis, and which of its series belong to each of ours. */
function curves(plot, marks, width) {
  const tables = [], series = [{}], bands = [], members = [];
  let shares = false, zero = false;
  plot.series.forEach((s, i) => {
    const colour = css(`--series-${i % COLOURS}`);
    const scale = s.right ? "share" : "y";
    const dots = s.draw === "points";
    (shares ||= s.right), (zero ||= !dots);
    let sum = 0;
    const columns = [s.dx.map((d) => (sum += d)), s.y];
    const own = [series.length];
    series.push({
      label: s.name, scale, stroke: colour, width: dots ? 0 : 2, dash: DASHES[i % DASHES.length], fill: undefined,
      paths: s.draw === "steps" ? uPlot.paths.stepped({ align: 1 }) : dots ? () => null : uPlot.paths.linear(),
      points: { show: false },
    });
    if (s.low) {
      columns.push(s.low, s.high);
      own.push(series.length, series.length + 1);
      for (const end of [0, 1]) series.push({ scale, stroke: colour, width: 0.5, alpha: 0.5, points: { show: false }, paths: uPlot.paths.linear() });
      bands.push({ series: [own[2], own[1]], fill: `${colour}2e` });
    }
    tables.push(columns);
    members.push(own);
  });
  const all = tables.flatMap((t) => t[0]);
  const wide = Math.max(...all.concat(marks.map((m) => m.at)).map(Math.abs));
  const levels = plot.levels ?? [];
  const low = all.concat(marks.map((m) => m.at), plot.from ?? []).reduce((a, b) => Math.min(a, b), Infinity);
  const log2 = plot.x.log2 && low >= 1;
  const high = Math.max(wide, low);
  const room = log2 ? (high / low) ** 0.02 : (high - low) * 0.02 || 1;
  const whole = log2 ? [low / room, high * room] : [low - room, high + room];
  const up = (_u, min, max) => {
    if (min == null) return [0, 1];
    if (ylog) return [Math.min(min, ...levels.map((l) => l.at)) / 1.2, max * 1.2];
    const pad = (max - min) * 0.06 || Math.abs(max) * 0.1 || 1;
    return zero && min >= 0 ? [0, max * 1.06 || 1] : [min - pad, max + pad];
  };
  const ylog = plot.y.log2 && plot.series.every((s) => s.y.every((y) => y >= 1));
  return {
    members, bands, series, data: uPlot.join(tables), top: marks.length ? 8 + LABEL_LINE * (levels.length ? Math.min(width < NARROW ? Infinity : 3, marks.length) : 1) : 10, right: shares, beside: levelRoom(levels), whole,
    scales: { x: { time: false, distr: log2 ? 3 : 1, log: 2, range: spanning(whole) }, y: { distr: ylog ? 3 : 1, log: 2, range: up }, share: { range: () => [0, 1.02] } },
    axes: [axisOf(plot.x, "x", 2, log2), axisOf({ ...plot.y, label: "" }, "y", 3, ylog), ...(shares ? [axisOf({ label: "misses", measure: "share" }, "share", 1, false)] : [])],
    hooks: {
      drawClear: [(u) => drawMarks(u, marks, levels)],
      drawSeries: [(u, s) => {
        const i = members.findIndex((own) => own[0] === s);
        if (i >= 0 && u.series[s].show) drawMarkers(u, s, i, plot.series[i], plot.series.length > 1);
      }],
    },
    /** The nearest point and its fellows at the same place. */
    read(u) {
      const points = members.flatMap((own, i) => {
        const at = u.cursor.idxs?.[own[0]];
        if (at == null || !u.series[own[0]].show || u.data[own[0]][at] == null) return [];
        const [x, y] = [u.data[0][at], u.data[own[0]][at]];
        const away = Math.hypot(u.valToPos(x, "x") - u.cursor.left, u.valToPos(y, series[own[0]].scale) - u.cursor.top);
        return [{ i, at, x, y, away }];
      });
      if (!points.length) return null;
      const nearest = points.reduce((a, b) => (b.away < a.away ? b : a));
      const line = ({ i, at, y }) => {
        const show = SHOW[plot.series[i].right ? "share" : plot.y.measure];
        const [low, high] = members[i].slice(1).map((k) => u.data[k][at]);
        return `${plot.series[i].name}: ${show(y)}${low < high ? ` [${show(low)} to ${show(high)}]` : ""}`;
      };
      return [`${plot.x.label} ${SHOW[plot.x.measure](nearest.x)}`, ...points.filter((p) => p.x === nearest.x).map(line)];
    },
  };
}

/** Colours from low to high that stay in order without colour, too: viridis, by its anchors. */
const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function ramp(part) {
  const at = Math.min(0.9999, Math.max(0, part)) * (RAMP.length - 1);
  return RAMP[Math.floor(at)].map((c, k) => Math.round(c + (RAMP[Math.floor(at) + 1][k] - c) * (at % 1)));
}

/** What uPlot is to draw of a table: one picture, a pixel a cell, stretched over the field. */
function heat(plot) {
  const [columns, rows] = [plot.cells[0].length, plot.cells.length];
  const sorted = plot.cells.flat().sort((a, b) => a - b);
  // Single slow loads do not take the colours from the rest.
  const [low, high] = [sorted[Math.floor(sorted.length * 0.01)], sorted[Math.floor((sorted.length - 1) * 0.99)]];
  const image = Object.assign(document.createElement("canvas"), { width: columns, height: rows });
  const pixels = new ImageData(columns, rows);
  plot.cells.forEach((row, r) => row.forEach((cell, c) => pixels.data.set([...ramp((cell - low) / (high - low || 1)), 255], ((rows - 1 - r) * columns + c) * 4)));
  image.getContext("2d").putImageData(pixels, 0, 0);
  const stretch = (u) => {
    const [left, right, bottom, top] = [u.valToPos(-0.5, "x", true), u.valToPos(columns - 0.5, "x", true), u.valToPos(-0.5, "y", true), u.valToPos(rows - 0.5, "y", true)];
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    u.ctx.clip();
    u.ctx.imageSmoothingEnabled = false;
    u.ctx.drawImage(image, left, top, right - left, bottom - top);
    u.ctx.restore();
  };
  const rowName = (_u, at) => at.map((y) => (Number.isInteger(y) ? (plot.rows[y] ?? "") : ""));
  return {
    members: [], bands: [], series: [{}, { points: { show: false }, paths: () => null }], top: 10, right: false, whole: [-0.5, columns - 0.5],
    data: [Array.from({ length: columns }, (_, i) => i), new Array(columns).fill(null)],
    scales: { x: { time: false, range: spanning([-0.5, columns - 0.5]) }, y: { range: () => [-0.5, rows - 0.5] } },
    axes: [axisOf({ label: plot.x, measure: "number" }, "x", 2, false), { ...axisOf({ label: plot.y, measure: "number" }, "y", 3, false), values: rowName }],
    hooks: { draw: [stretch] },
    key: element("div", "key", "", element("span", "", `${low}`), element("i", "ramp"), element("span", "", `${high} ${plot.value}`)),
    read(u) {
      const [c, r] = [Math.round(u.posToVal(u.cursor.left, "x")), Math.round(u.posToVal(u.cursor.top, "y"))];
      return plot.cells[r]?.[c] == null ? null : [`${plot.rows[r]}, line ${c}`, `${plot.cells[r][c]} ${plot.value}`];
    },
  };
}

/** Index of the nearest value of a series around an index, since series have points at different places. */
function nearest(u, s, at) {
  const column = u.data[s];
  for (let d = 0; d < column.length; d++) for (const i of [at - d, at + d]) if (column[i] != null) return i;
  return at;
}

/** Shows a plot in its place, anew. */
function draw(place, plots) {
  const numbers = place.dataset.plots.split(" ").map(Number);
  const choice = Number(place.dataset.choice ?? 0);
  const plot = plots[numbers[choice]];
  const marks = [...(plot.marks ?? []), ...JSON.parse(place.dataset.marks || "[]")];
  place.uplot?.destroy();
  place.replaceChildren();
  const what = plot.kind === "heat" ? heat(plot) : curves(plot, marks, place.clientWidth);
  const head = element("div", "plot-head", "", element("b", "", plot.title));
  const reset = element("button", "reset", "whole");
  reset.type = "button";
  reset.title = "Show the whole plot again (or double-click it); drag over a part to enlarge it";
  reset.disabled = true;
  if (numbers.length > 1) {
    const chooser = element("select", "", "", ...numbers.map((n, i) => Object.assign(element("option", "", plots[n].choice || plots[n].title), { value: i, selected: i === choice })));
    chooser.setAttribute("aria-label", "Chain");
    chooser.addEventListener("change", () => ((place.dataset.choice = chooser.value), draw(place, plots)));
    head.append(chooser);
  }
  head.append(reset);
  const field = element("div", "field");
  const tip = element("div", "tip");
  tip.hidden = true;
  // What the y axis shows stands above it, where it has room for its words.
  place.append(head, ...(plot.kind === "heat" ? [] : [element("div", "upwards", plot.y.label)]), field);
  const size = () => ({ width: Math.max(240, field.clientWidth), height: plot.kind === "heat" ? Math.min(420, Math.max(260, field.clientWidth * 0.7)) : Number(place.dataset.height ?? 260) + Math.max(0, what.top - USUAL_TOP) });
  const whole = () => u.setData(u.data, true);
  const point = (u) => {
    const { left, top } = u.cursor;
    const lines = left >= 0 ? what.read(u) : null;
    tip.hidden = !lines;
    if (!lines) return;
    tip.replaceChildren(...lines.map((line) => element("div", "", line)));
    tip.style.top = `${Math.max(0, Math.min(top - tip.offsetHeight / 2, u.over.clientHeight - tip.offsetHeight))}px`;
    tip.style.left = `${left + 12 + tip.offsetWidth <= u.over.clientWidth ? left + 12 : Math.max(0, left - 12 - tip.offsetWidth)}px`;
  };
  const zoomed = (u, scale) => scale === "x" && (reset.disabled = u.scales.x.min <= what.whole[0] && u.scales.x.max >= what.whole[1]);
  const u = new uPlot(
    {
      ...size(), padding: [what.top, what.right ? 0 : what.beside || 14, 0, 0], legend: { show: false }, series: what.series, bands: what.bands, scales: what.scales, axes: what.axes,
      cursor: { y: plot.kind === "heat", drag: { x: true, y: true, uni: 24 }, dataIdx: nearest, points: { show: plot.kind !== "heat", size: 8 } },
      hooks: { ...what.hooks, setCursor: [point], setScale: [zoomed] },
    },
    what.data,
    field,
  );
  u.over.append(tip);
  reset.addEventListener("click", whole);
  const touch = (e) => {
    const box = u.over.getBoundingClientRect();
    u.setCursor({ left: e.touches[0].clientX - box.left, top: e.touches[0].clientY - box.top });
  };
  u.over.addEventListener("touchstart", touch, { passive: true });
  u.over.addEventListener("touchmove", touch, { passive: true });
  if (what.key) place.append(what.key);
  if (what.members.length > 1) {
    const key = (own, i) => {
      const button = element("button", "", "", sample(i, plot.series[i].draw), plot.series[i].name);
      button.type = "button";
      button.ariaPressed = "true";
      button.style.setProperty("--colour", css(`--series-${i % COLOURS}`));
      button.addEventListener("click", () => {
        const show = button.ariaPressed !== "true";
        button.ariaPressed = `${show}`;
        own.forEach((s) => u.setSeries(s, { show }));
      });
      return button;
    };
    place.append(element("div", "key", "", ...what.members.map(key)));
  }
  place.uplot = u;
  place.watch ??= new ResizeObserver(() => {
    const { width, height } = place.resized();
    // Between narrow and wide, labels go to other lines.
    if (width < NARROW !== place.uplot.width < NARROW) draw(place, plots);
    else if (width !== place.uplot.width) place.uplot.setSize({ width, height });
  });
  place.resized = size;
  place.watch.disconnect();
  place.watch.observe(field);
}
