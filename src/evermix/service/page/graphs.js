// The two curves, drawn by uPlot in the colours of the page.
import {shown} from "./charts.js";

const HEIGHT = 210, BLUE = "#3f7fcf", GREEN = "#2f9a73";
const styled = (selector, what) => getComputedStyle(document.querySelector(selector))[what];

function axis(size) {
  return {
    stroke: () => styled(".hint", "color"), font: "11px system-ui, sans-serif", size, gap: 4, ticks: {show: false},
    grid: {stroke: () => styled(".panel", "borderTopColor"), width: 1},
    values: (_, values) => values.map(value => value === null ? "" : shown(Number(value.toPrecision(12)))),
  };
}

// Few values far below all others do not decide the scale.
function low(values, share) {
  const known = values.filter(value => value !== null && value !== undefined).sort((a, b) => a - b);
  return known.length ? [known[Math.floor(known.length * share)], known.at(-1)] : [0, 1];
}
function ranged(low, high) {
  const pad = 0.08 * Math.max(high - low, 1e-4 * Math.abs(high), 1e-9);
  return [low - pad, high + pad];
}

// Rows as text: when they came where that is known, alone or after their number.
function dated(plot, rows, text, between) {
  if (!plot.when || rows === null || rows === undefined) return text;
  return between === undefined ? plot.when(rows) : `${text}${between}${plot.when(rows)}`;
}

function graph(box, series, range, more = {}) {
  const value = (_, number) => number === null || number === undefined ? "–" : shown(Number(number.toPrecision(5)));
  const options = {
    width: Math.max(box.clientWidth, 120), height: HEIGHT,
    scales: {x: {time: false}, y: {range}},
    axes: [{...axis(28), space: 90, values: (plot, values) => values.map(rows => rows === null ? "" : dated(plot, rows, shown(Number(rows.toPrecision(12)))))}, {...axis(56), space: 40, ...more}],
    padding: [8, 36, 0, 0],
    series: [{label: "rows", value: (plot, rows) => dated(plot, rows, value(plot, rows), ", ")}, ...series.map(each => ({width: 2.2, value, points: {show: false}, ...each}))],
    legend: {live: true, markers: {show: false}},
    cursor: {y: false, drag: {x: false, y: false}, points: {size: 8}},
  };
  return new uPlot(options, [[], ...series.map(() => [])], box);
}

export class Graphs {
  #growth; #likelihood; #boxes;

  constructor(growth, likelihood) {
    this.#boxes = [growth, likelihood];
    this.#growth = graph(growth, [{label: "clusters", stroke: BLUE, paths: uPlot.paths.stepped({align: -1})}],
      (_, __, high) => [0, Math.max(high ?? 1, 1) * 1.12], {space: 26, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]});
    this.#likelihood = graph(likelihood, [
      {label: "these rows", stroke: GREEN, paths: () => null, points: {show: true, size: 4.5, width: 0, fill: `${GREEN}cc`}},
      {label: "mean so far", stroke: BLUE},
    ], plot => {
      const [least, most] = low(plot.data[1], 0.05), end = plot.data[2].findLast(value => value !== null) ?? least;
      return ranged(Math.min(least, end), Math.max(most, end));
    });
  }

  // `waits` says why there is nothing to draw.
  draw({rows, clusters, each, mean}, when, waits) {
    for (const box of this.#boxes) {
      box.hidden = !rows.length;
      box.nextElementSibling.textContent = rows.length ? "" : waits;
    }
    this.resize();
    this.#growth.when = this.#likelihood.when = when;
    const [growth, likelihood] = this.#boxes, end = mean.findLast(value => value !== null);
    this.#growth.setData([rows, clusters]);
    this.#likelihood.setData([rows, each, mean]);
    for (const plot of [this.#growth, this.#likelihood]) if (plot.cursor.idx === null || plot.cursor.left < 0) plot.setLegend({idx: rows.length - 1});
    growth.setAttribute("aria-label", rows.length ? `Clusters found: ${shown(clusters.at(-1))} after ${shown(rows.at(-1))} rows.` : "Clusters found: nothing yet.");
    likelihood.setAttribute("aria-label", end === undefined ? "Fit to new rows: nothing yet." : `Fit to new rows: a log-likelihood of ${shown(Number(end.toPrecision(4)))} nats per row on average.`);
  }

  resize() {
    [this.#growth, this.#likelihood].forEach((plot, i) => {
      const width = Math.max(this.#boxes[i].clientWidth, 120);
      if (plot.width !== width) plot.setSize({width, height: HEIGHT});
    });
  }

  recolour() {
    for (const plot of [this.#growth, this.#likelihood]) plot.redraw(false, true);
  }
}
