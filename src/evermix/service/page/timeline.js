// How a model has gone: points of some rows each, from which charts are made.
import {COLOURS, OTHERS, clock} from "./charts.js";

const LAYERS = COLOURS.length;
const GROWING = 3, GROWTH = 2, LEAST = 0.01;  // as in reports (flow.py)
const MARKS = {birth: "born", split: "split", merge: "merged", death: "ended"};

function join(bin, later) {
  bin.rows = later.rows;
  bin.clusters = later.clusters;
  bin.total += later.total;
  for (const [id, n] of later.counts) bin.counts.set(id, (bin.counts.get(id) ?? 0) + n);
  for (const [what, {n, ids}] of Object.entries(later.marks)) {
    const mark = bin.marks[what] ??= {n: 0, ids: []};
    mark.n += n;
    mark.ids = [...mark.ids, ...ids].slice(0, 6);
  }
}

// Ids of the largest clusters, and of up to three that are smaller but have grown lately.
function chosen(bins) {
  const sums = new Map(), last = bins.slice(-Math.max(Math.floor(bins.length / 4), 1));
  for (const bin of bins) for (const [id, n] of bin.counts) sums.set(id, (sums.get(id) ?? 0) + n / bin.total);
  const lately = id => last.reduce((sum, bin) => sum + (bin.counts.get(id) ?? 0) / (bin.total || 1), 0) / last.length;
  const sizes = [...sums].sort((a, b) => b[1] - a[1]);
  const grown = sizes.slice(LAYERS).map(([id, sum]) => ({id, before: sum / bins.length, now: lately(id)}))
    .filter(({before, now}) => now >= Math.max(GROWTH * before, LEAST)).sort((a, b) => b.now - a.now).slice(0, GROWING);
  const largest = sizes.slice(0, LAYERS - grown.length).map(([id]) => id);
  return [...largest, ...grown.map(({id}) => id)].sort((a, b) => a - b);
}

// Dates as briefly as their span allows: days, minutes or seconds.
function dates(times) {
  const full = times.map(time => time.length === 10 ? `${time}T00:00:00` : time);
  const span = Math.abs(Date.parse(`${full.at(-1)}Z`) - Date.parse(`${full[0]}Z`)) / 1000;
  const letters = span >= 4 * 86400 ? 10 : span >= 4 * 60 ? 16 : 19;
  return full.map(time => time.slice(0, letters).replace("T", " "));
}

export class Timeline {
  points = [];
  #colours = new Map();  // by id; a cluster keeps its colour while it is among the largest

  replace(first, points) {
    while (this.points.length && this.points.at(-1).first >= first) this.points.pop();
    this.points.push(...points);
  }

  window(share) {
    const all = this.points, end = all.at(-1)?.rows ?? 0, start = end * (1 - share);
    return share === 1 ? all : all.filter(point => point.rows > start);
  }

  // What tells when so many rows had come, as far as is known of those in the window; null if rows have no times.
  when(share) {
    const some = this.window(share).filter(point => point.at !== undefined && point.at !== null), times = some.map(point => point.at);
    return times.length ? clock([some.map(point => point.rows), typeof times[0] === "number" ? times : dates(times)]) : null;
  }

  // Points joined to so many bins of about equal width, with counts by cluster.
  #bins(points, most) {
    const width = (points.at(-1).rows - points[0].first) / most, bins = [];
    for (const point of points) {
      if (!bins.length || bins.at(-1).rows - bins.at(-1).first >= width) bins.push({first: point.first, counts: new Map(), total: 0, marks: {}});
      const marks = Object.fromEntries(Object.entries(point.marks).map(([what, [n, ids]]) => [what, {n, ids}]));
      join(bins.at(-1), {...point, marks, total: point.others + point.counts.reduce((sum, [, n]) => sum + n, 0)});
    }
    const last = bins.at(-1);  // which may have too few rows to tell shares
    if (bins.length > 2 && last.rows - last.first < width / 2) join(bins.at(-2), bins.pop());
    return bins;
  }

  // What flowChart wants, or null if there is too little.
  flow(share, most) {
    const points = this.window(share);
    if (points.length < 3) return null;
    const bins = this.#bins(points, most);
    if (bins.length < 3) return null;
    const ids = chosen(bins);
    this.#colour(ids);
    const layers = ids.map(id => bins.map(bin => (bin.counts.get(id) ?? 0) / (bin.total || 1)));
    layers.push(bins.map((_, i) => Math.max(0, 1 - layers.reduce((sum, layer) => sum + layer[i], 0))));
    const x = bins.map(bin => Math.round((bin.first + bin.rows) / 2)), marks = [];
    x[0] = bins[0].first;
    x[x.length - 1] = bins.at(-1).rows;
    bins.forEach((bin, at) => { for (const [what, mark] of Object.entries(bin.marks)) marks.push({at, what: MARKS[what] ?? "ended", ...mark}); });
    return {xlabel: "rows", x, ids, layers, marks, bins, when: this.when(share)};
  }

  #colour(ids) {
    const kept = new Set(ids);
    for (const id of this.#colours.keys()) if (!kept.has(id)) this.#colours.delete(id);
    const used = new Set(this.#colours.values()), free = COLOURS.filter(colour => !used.has(colour));
    for (const id of ids) if (!this.#colours.has(id)) this.#colours.set(id, free.shift());
  }
  colour(id) { return this.#colours.get(id) ?? OTHERS; }

  // Rows, clusters, and the log-likelihood of each point and of all so far.
  curves(share) {
    const some = new Set(this.window(share)), rows = [], clusters = [], each = [], mean = [];
    let total = 0, scored = 0;
    for (const point of this.points) {
      total += point.log_predictive;
      scored += point.scored;
      if (!some.has(point)) continue;
      rows.push(point.rows);
      clusters.push(point.clusters);
      each.push(point.scored ? point.log_predictive / point.scored : null);
      mean.push(scored ? total / scored : null);
    }
    return {rows, clusters, each, mean};
  }

  // The share of one cluster in bins, for its card.
  of(id, most = 40) {
    if (this.points.length < 3) return null;
    const bins = this.#bins(this.points, most);
    return {x: bins.map(bin => bin.rows), y: bins.map(bin => 100 * (bin.counts.get(id) ?? 0) / (bin.total || 1))};
  }
}
