// Charts as SVG: each function draws into a box of the page, as wide as that is.
const COLOURS = ["#3f7fcf", "#d97a2f", "#2f9a73", "#c2507a", "#8467bd", "#a07d3c",
  "#3ba0bf", "#b99a1e", "#71933a", "#d0709f", "#5f6fc0", "#b2603a"];  // of chains, and on live pages
const OTHERS = "#8b97a3";
const MARKS = {born: "var(--green)", split: "var(--ink)", merged: "var(--accent)", ended: "var(--red)"};

function make(tag, attributes = {}, ...children) {
  const space = make.svg.has(tag) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const element = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
make.svg = new Set(["svg", "g", "path", "line", "circle", "text", "rect", "clipPath"]);

// Formats are made once: each takes longer to make than a page of numbers to write.
const formats = new Map();
function written(value, digits, notation = "standard") {
  const key = digits + notation;
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat("en", {maximumSignificantDigits: digits, notation}));
  return formats.get(key).format(value);
}
const whole = value => written(value, 15);
const shown = (value, digits = 3) => Math.abs(value) >= 1e5 ? written(value, digits, "compact") : written(value, Math.abs(value) >= 1000 ? 6 : 4);
const writtenTime = value => Number.isInteger(value) && value >= 1500 && value <= 2100 ? String(value) : shown(value);  // years
const percent = share => share > 0 && share < 1e-4 ? "< 0.01 %" : `${written(100 * share, share < 0.1 ? 2 : 3)} %`;
// How the trend of a cluster is shown: its share of the latest rows over that of all, 0 if no rows of it come any more.
// It has an arrow if the cluster is growing, or if that is half or less; by what is shown, so that the same numbers look the same.
function trendOf({trend, growing}) {
  if (trend === undefined || trend === null) return {text: "", kind: "steady", hint: ""};
  if (trend === 0) return {text: "fading", kind: "down", hint: "no row of it has come for longer than chance allows"};
  const digits = Number(trend.toPrecision(2)), kind = growing ? "up" : digits <= 0.5 ? "down" : "steady";
  return {text: `${{up: "▲ ", down: "▼ ", steady: ""}[kind]}× ${shown(digits)}`, kind, hint: "its share of the latest rows, over its share of all"};
}
function clock([rows, times]) {  // what tells when so many rows had been learnt; null without times
  const at = n => Math.max(rows.findLastIndex(row => row <= n), 0);
  return rows.length ? n => typeof times[0] === "number" ? writtenTime(times[at(n)]) : times[at(n)] : null;
}
const counted = (n, noun) => `${whole(n)} ${noun}${n === 1 ? "" : "s"}`;
const listed = (names, most) => names.length > most + 1 ? `${names.slice(0, most).join(", ")} and ${names.length - most} more` : names.join(", ");
const brief = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

function tip(event, text) {
  const box = document.getElementById("tip");
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  const left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
  const top = event.clientY + 18 + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 10 : event.clientY + 18;
  box.style.transform = `translate(${Math.max(left, 4)}px, ${top}px)`;
}
let tipOfFocus = null;  // shows the tip of what the keyboard is on, which may have moved
addEventListener("scroll", () => { tip(null, ""); tipOfFocus?.(); }, {passive: true, capture: true});

function ticks(low, high, n, log) {
  if (log) {
    const found = [];
    for (let e = Math.floor(Math.log10(low)); 10 ** e <= high; e++) if (10 ** e >= low) found.push(10 ** e);
    return found;
  }
  const raw = (high - low) / n || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find(m => m * power >= raw) * power, found = [];
  for (let i = Math.ceil(low / step); i * step <= high; i++) found.push(i * step);
  return found;
}
function scale([a, b], [c, d], log) {
  const f = log ? Math.log : value => value;
  return value => c + (d - c) * (f(value) - f(a)) / (f(b) - f(a) || 1);
}
function canvas(box, height, label) {
  const width = Math.max(box.clientWidth, 120);
  const root = make("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
  box.replaceChildren(root);
  return [root, width];
}
function axis(root, x, texts, y) {  // below a chart, with as many texts as there is room for
  const width = Math.max(...texts.map(([, text]) => text.length)) * 6.5 + 14;
  let end = -Infinity;
  for (const [value, text] of texts) {
    const middle = Math.min(x(value), root.clientWidth - text.length * 3.2);
    if (middle - width / 2 < end) continue;
    end = middle + width / 2;
    root.append(make("text", {x: middle, y, "text-anchor": "middle"}, text));
  }
}

function lineChart(box, chart) {
  const height = 210, left = 62, top = 16, bottom = height - 36;
  const xs = chart.lines.flatMap(line => line.x), ys = chart.lines.flatMap(line => line.y).filter(y => y !== null).sort((a, b) => a - b);
  const last = chart.lines.at(-1), end = last.y.at(-1), places = chart.labels ?? [];
  const named = value => chart.when ? chart.when(value) : places[value] === undefined ? shown(value) : String(places[value]);
  const position = value => chart.when ? `${chart.when(value)}, after ${shown(value)} rows` : `${named(value)} ${chart.xlabel}`;
  const [root, width] = canvas(box, height, `${chart.title}: from ${shown(last.y[0] ?? 0)} to ${shown(end ?? 0)}, by ${chart.xlabel}.`);
  // A few extreme dots do not decide the scale.
  const least = ys[Math.floor(ys.length * (chart.lines[0].dots && !chart.log ? 0.03 : 0))];
  const high = ys.at(-1), low = !chart.log && ys[0] >= 0 ? 0 : Math.min(least, end ?? least), from = Math.min(...xs), to = Math.max(...xs);
  const alone = end !== null && !last.dots && chart.lines.filter(line => !line.dots).length === 1;
  const pad = 0.08 * Math.max(high - low, 1e-4 * Math.abs(high), 1e-9);
  const range = chart.log ? [low / 1.2, high * 1.3] : [low === 0 ? 0 : low - pad, high + pad];
  const along = [chart.log || chart.labels || from > 0.2 * to ? from : 0, to];
  const counts = ys.every(Number.isInteger), values = ticks(...range, 4, chart.log).filter(v => !counts || Number.isInteger(v));
  const digits = chart.log ? 0 : Math.max(0, Math.ceil(-Math.log10(values[1] - values[0] || 1)));
  // As many digits of large numbers as tell one line of the grid from another.
  const n = [3, 4, 5, 6].find(n => new Set(values.map(value => shown(value, n))).size === values.length) ?? 7;
  const label = alone ? shown(Number(end.toPrecision(n + 1)), n + 1) : "", right = alone ? 18 + 7 * label.length : 12;
  const x = scale(along, [left, width - right], chart.log), y = scale(range, [bottom, top], chart.log);
  for (const value of values) {
    root.append(make("line", {class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value)}),
      make("text", {x: left - 8, y: y(value) + 4, "text-anchor": "end"}, digits ? value.toFixed(digits) : shown(value, n)));
  }
  axis(root, x, ticks(...along, 5, chart.log).filter(v => !chart.labels || Number.isInteger(v)).map(v => [v, named(v)]), bottom + 16);
  root.append(make("text", {x: width - right, y: height - 4, "text-anchor": "end"}, chart.when ? "time" : chart.xlabel));
  const clip = `clip-${lineChart.count = (lineChart.count ?? 0) + 1}`, plot = make("g", {"clip-path": `url(#${clip})`});
  root.append(make("clipPath", {id: clip}, make("rect", {x: left - 6, y: 0, width: width - left + 6, height: bottom + 6})), plot);
  chart.lines.forEach((line, i) => {
    const colour = COLOURS[chart.lines[0].dots && !chart.log ? 2 : i];
    const points = line.x.map((value, j) => [value, line.y[j]]).filter(([, value]) => value !== null);
    const begins = j => !j || chart.starts?.some(start => points[j - 1][0] < start && start <= points[j][0]);
    if (line.dots) {
      for (const [a, b] of points) plot.append(make("circle", {cx: x(a), cy: y(b), r: 2.2, fill: colour, opacity: 0.5}));
    } else {
      plot.append(make("path", {class: "curve", stroke: colour, 
        d: points.map(([a, b], j) => `${begins(j) ? "M" : chart.steps ? `H${x(a).toFixed(1)}L` : "L"}${x(a).toFixed(1)},${y(b).toFixed(1)}h0`).join("")}));
    }
  });
  if (alone) root.append(make("text", {class: "strong", x: width - right + 8, y: y(end) + 4}, label));  // beside the line
  const dot = make("circle", {r: 4.5, fill: "var(--accent)", visibility: "hidden"});
  root.append(dot);
  root.addEventListener("pointermove", event => {
    const place = event.clientX - root.getBoundingClientRect().left;
    let best = 0;
    last.x.forEach((value, j) => { if (Math.abs(x(value) - place) < Math.abs(x(last.x[best]) - place)) best = j; });
    const lines = chart.lines.filter(line => line.x.length === last.x.length && line.y[best] !== null);
    tip(event, [position(last.x[best]), ...lines.map(line => `${line.name || chart.title}: ${shown(line.y[best], n + 1)}`)].join("\n"));
    dot.setAttribute("cx", x(last.x[best]));
    dot.setAttribute("cy", y(last.y[best] ?? low));
    dot.setAttribute("visibility", "visible");
  });
  root.addEventListener("pointerleave", event => { tip(event, ""); dot.setAttribute("visibility", "hidden"); });
}

const MANY_BARS = 12;  // above which they are in two columns, where there is room
function barChart(box, chart) {  // a line for each bar: its name, the bar, and its value
  const {bars} = chart, columns = bars.length > MANY_BARS && box.clientWidth > 640 ? 2 : 1, rows = Math.ceil(bars.length / columns);
  const line = Math.min(Math.max(200 / rows, 17), 44), thick = Math.min(line - 5, 24), top = 6, height = top + line * rows;
  const named = Math.min(150, 12 + 6.6 * Math.max(...bars.map(([name]) => name.length))), most = Math.max(...bars.map(([, value]) => value));
  const [first, last] = [bars[0], bars.at(-1)];
  const [root, width] = canvas(box, height, `${chart.title}: ${bars.length} of them, from ${first[0]} with ${whole(first[1])} to ${last[0]} with ${whole(last[1])}.`);
  const wide = width / columns, x = scale([0, most], [named, wide - 20 - 7 * whole(most).length]);
  bars.forEach(([name, value], i) => {
    const left = wide * Math.floor(i / rows), y = top + line * (i % rows), middle = y + line / 2, group = make("g", {},
      make("rect", {x: left, y, width: wide, height: line, fill: "transparent"}),
      make("text", {x: left + named - 8, y: middle + 4, "text-anchor": "end"}, brief(name, 22)),
      make("rect", {class: "bar", x: left + named, y: middle - thick / 2, width: Math.max(x(value) - named, 1), height: thick, rx: 2, fill: OTHERS}),
      make("text", {x: left + x(value) + 6, y: middle + 4}, whole(value)));
    group.addEventListener("pointermove", event => tip(event, `${name}: ${whole(value)} ${chart.note}`));
    group.addEventListener("pointerleave", event => tip(event, ""));
    root.append(group);
  });
}

function band(xs, tops, bottoms) {  // the outline of a layer, with soft bends
  const side = (values, points) => values.map((y, i) => {
    if (!i) return "";
    const [a, b] = [points[i - 1], points[i]], middle = (a + b) / 2;
    return `C${middle.toFixed(1)},${values[i - 1].toFixed(1)} ${middle.toFixed(1)},${y.toFixed(1)} ${b.toFixed(1)},${y.toFixed(1)}`;
  }).join("");
  const back = [...xs].reverse(), low = [...bottoms].reverse();
  return `M${xs[0]},${tops[0]}${side(tops, xs)}L${back[0]},${low[0]}${side(low, back)}Z`;
}

function flowChart(box, flow, layers, pick) {
  const lane = mark => mark.what in MARKS ? mark.what : "ended", lanes = Object.keys(MARKS).filter(name => flow.marks.some(mark => lane(mark) === name));
  const top = 6, bottom = innerWidth < 640 ? 226 : 286, height = bottom + 26 + (lanes.length ? 10 + 24 * lanes.length : 0);
  const left = lanes.length ? 56 : 12;
  const [root, width] = canvas(box, height, `Shares of the largest over ${flow.xlabel}: ` +
    layers.map(layer => `${layer.name} ${percent(layer.mean)} on average`).join(", ") + ".");
  const rows = flow.xlabel === "rows", where = rows ? flow.x : flow.at, along = scale([where[0], where.at(-1)], [left, width - 12]);
  const places = where.map(along);
  const y = scale([0, 1], [top, bottom]);
  const known = flow.x.map((_, i) => flow.layers[0][i] !== null), sums = flow.x.map(() => 0);
  const runs = [];
  known.forEach((there, i) => { if (there) (i && known[i - 1] && !flow.starts?.includes(i) ? runs.at(-1) : runs[runs.push([]) - 1]).push(i); });
  const bar = Math.min(width, ...places.slice(1).map((place, i) => place - places[i])) / 4;  // half as wide as the time to the next, where a time is alone
  const xs = run => run.length > 1 ? run.map(i => places[i]) : [places[run[0]] - bar, places[run[0]] + bar];
  const ys = (run, values) => (run.length > 1 ? run : [run[0], run[0]]).map(i => values[i]);
  const between = (x, run, side) => {  // where a side of a layer is, at a place
    const b = run.find(i => places[i] >= x) ?? run.at(-1), a = b === run[0] ? b : b - 1;
    return a === b ? side[b] : scale([places[a], places[b]], [side[a], side[b]])(x);
  };
  const labels = [];
  layers.forEach((layer, k) => {
    const tops = sums.map(y), values = flow.layers[k];
    values.forEach((value, i) => { sums[i] += value ?? 0; });
    const bottoms = sums.map(y);
    const d = runs.map(run => band(xs(run), ys(run, tops), ys(run, bottoms))).join("");
    const shape = make("path", {d, fill: layer.colour, "data-layer": k, ...(layer.id === null ? {} : {"data-id": layer.id})});
    root.append(shape);
    const text = brief(layer.label, 26), half = text.length * 3.6;
    const largest = values.map((_, i) => i).sort((a, b) => values[b] - values[a]);
    for (const [best, ends] of text ? [half, 0].flatMap(ends => largest.map(i => [i, ends])) : []) {  // inside the layer as a whole, or its middle
      const run = runs.find(run => run.includes(best)) ?? [best], [from, to] = [xs(run)[0] + half, xs(run).at(-1) - half];
      const x = Math.min(Math.max(places[best], from), to), [high, low] = [tops, bottoms].map(side => [x - ends, x, x + ends].map(x => between(x, run, side)));
      const [above, below] = [Math.max(...high), Math.min(...low)], centre = (above + below) / 2 + 4;
      if (from > to || below - above <= 16 || labels.some(label => Math.abs(label.x - x) < label.half + half && Math.abs(label.y - centre) < 15)) continue;
      labels.push({x, y: centre, half, text});
      break;
    }
  });
  root.append(...labels.map(({x, y, text}) => make("text", {class: "inside", x, y, "text-anchor": "middle"}, text)));
  const named = flow.when ?? (rows ? shown : String), texts = flow.x.map((value, i) => [where[i], named(value)]);
  const position = i => flow.when ? `${texts[i][1]}, after ${shown(flow.x[i])} rows` : `${texts[i][1]} ${flow.xlabel}`;
  axis(root, along, rows ? ticks(flow.x[0], flow.x.at(-1), 7).map(value => [value, named(value)]) : texts, bottom + 18);
  lanes.forEach((name, k) => {
    const at = bottom + 42 + 24 * k;
    root.append(make("line", {class: "grid", x1: left, x2: width - 12, y1: at, y2: at}), make("text", {x: 0, y: at + 4}, name));
    for (const mark of flow.marks.filter(mark => lane(mark) === name)) {
      const about = `${mark.n} ${mark.what}: ${mark.ids.join(mark.ids.some(id => String(id).includes(",")) ? "; " : ", ")}${mark.n > mark.ids.length ? ", …" : ""}`;
      const circle = make("circle", {cx: places[mark.at], cy: at, r: Math.min(2.5 + Math.sqrt(mark.n) * 1.4, 10), fill: MARKS[name], opacity: 0.85});
      circle.addEventListener("pointermove", event => tip(event, `${position(mark.at)}\n${about}`));
      root.append(circle);
    }
  });
  root.addEventListener("pointermove", event => {
    const k = event.target.dataset?.layer;
    for (const shape of root.querySelectorAll("[data-layer]")) shape.classList.toggle("dim", k !== undefined && shape.dataset.layer !== k);
    if (k === undefined) return event.target.tagName !== "circle" && tip(event, "");
    const place = event.clientX - root.getBoundingClientRect().left;
    const i = places.reduce((best, value, j) => Math.abs(value - place) < Math.abs(places[best] - place) ? j : best, 0);
    tip(event, `${layers[k].name}\n${layers[k].words}\n${percent(flow.layers[k][i] ?? 0)} at ${position(i)}`);
  });
  root.addEventListener("pointerleave", event => { tip(event, ""); for (const shape of root.querySelectorAll(".dim")) shape.classList.remove("dim"); });
  root.addEventListener("click", event => event.target.dataset?.id && pick(Number(event.target.dataset.id)));
}

function treeChart(box, tree, items, leafText, pick) {
  const K = items.length, row = 22, height = K * row + 34;
  const [root, width] = canvas(box, height, `A tree that joins ${K} clusters; it suggests ${tree.groups} groups.`);
  const left = Math.min(330, Math.round(width * 0.5)), top = Math.max(...tree.heights, 1e-9);
  const x = scale([0, top], [left + 8, width - 14]), order = [], stack = [2 * K - 2];
  const share = items.map(item => item.share);
  for (const [a, b] of tree.merges) share.push(share[a] + share[b]);
  while (stack.length) {
    const node = stack.pop();
    if (node < K) order.push(node);
    else stack.push(...tree.merges[node - K].toSorted((a, b) => share[a] - share[b]));
  }
  const y = new Array(2 * K - 1), at = new Array(2 * K - 1).fill(x(0));
  order.forEach((leaf, i) => {
    y[leaf] = 12 + i * row;
    const item = items[leaf], text = brief(leafText(item), Math.floor(left / 6.2));
    root.append(make("text", {x: 0, y: y[leaf] + 4, "data-id": item.id}, text),
      make("circle", {cx: x(0), cy: y[leaf], r: Math.min(2 + 14 * Math.sqrt(item.share), 9), fill: item.colour}));
  });
  tree.merges.forEach(([a, b], i) => {
    y[K + i] = (y[a] + y[b]) / 2;
    at[K + i] = x(tree.heights[i]);
    const within = i < K - tree.groups;
    root.append(make("path", {class: "curve", style: "stroke-width:1.5", stroke: within ? "var(--accent)" : "var(--soft)",
      d: `M${at[a]},${y[a]}H${at[K + i]}V${y[b]}H${at[b]}`}));
  });
  axis(root, x, ticks(0, top, width < 500 ? 3 : 6).map(v => [v, shown(v)]), height - 8);
  root.addEventListener("click", event => event.target.dataset?.id && pick(Number(event.target.dataset.id)));
}

function spread(spots, width, height) {  // push circles apart that hide each other, the largest ones
  const some = spots.slice(0, 200), inside = (value, r, end) => Math.min(Math.max(value, r + 4), end - r - 4);
  for (let round = 0; round < 120; round++) {
    some.forEach((a, i) => some.slice(0, i).forEach(b => {
      const [dx, dy] = [a.x - b.x || 1e-3 * (i + 1), a.y - b.y || 1e-3], far = Math.hypot(dx, dy), lack = 0.9 * (a.r + b.r) - far;
      if (lack <= 0) return;
      const part = 0.5 * lack * b.r ** 2 / (a.r ** 2 + b.r ** 2) / far, rest = 0.5 * lack / far - part;
      [a.x, a.y] = [inside(a.x + part * dx, a.r, width), inside(a.y + part * dy, a.r, height)];
      [b.x, b.y] = [inside(b.x - rest * dx, b.r, width), inside(b.y - rest * dy, b.r, height)];
    }));
  }
}

function room(values, [low, high]) {  // half by value and half by rank: a few far away do not press all others together
  const order = values.map((_, k) => k).sort((a, b) => values[a] - values[b]), places = new Array(values.length);
  const linear = scale([values[order[0]], values[order.at(-1)]], [0, 1]);
  order.forEach((k, rank) => { places[k] = low + (high - low) * (linear(values[k]) + rank / Math.max(values.length - 1, 1)) / 2; });
  return places;
}

const LABELLED = 20;  // topics whose words a map shows; the tip has those of the others
function mapChart(box, places, items, label, pick) {
  const height = innerWidth < 640 ? 320 : 460;
  const [root, width] = canvas(box, height, `A map of ${items.length} topics; those with the same words are close. Arrow keys go from one to the next, the largest first.`);
  root.setAttribute("role", "group");
  const big = Math.min(width, height) * 0.13, edge = big + 8, most = Math.max(...items.map(item => item.share));
  const xs = room(places.map(place => place[0]), [edge, width - edge]), ys = room(places.map(place => place[1]), [edge, height - edge]);
  const taken = [], spots = items.map((item, k) => ({x: xs[k], y: ys[k], r: Math.max(big * Math.sqrt(item.share / most), 4)}));
  spread(spots, width, height);
  const about = item => `${item.name}, ${percent(item.share)}\n${item.words.join(", ")}`;
  const circles = items.map((item, k) => {
    const circle = make("circle", {cx: spots[k].x, cy: spots[k].y, r: spots[k].r, fill: item.colour, opacity: 0.72, "data-id": item.id,
      tabindex: k ? -1 : 0, role: "button", "aria-label": `${item.name}: ${item.words.slice(0, 5).join(", ")}, ${percent(item.share)}`});
    circle.addEventListener("pointermove", event => tip(event, about(item)));
    circle.addEventListener("pointerleave", event => tip(event, ""));
    circle.addEventListener("focus", () => {
      tipOfFocus = () => {
        const {left, top, bottom} = circle.getBoundingClientRect(), seen = bottom > 0 && top < innerHeight;
        if (seen && circle.matches(":focus-visible")) tip({clientX: left, clientY: bottom - 12}, about(item));
      };
      requestAnimationFrame(() => tipOfFocus?.());
    });
    circle.addEventListener("blur", event => { tipOfFocus = null; tip(event, ""); });
    return circle;
  });
  root.append(...circles);
  items.slice(0, LABELLED).forEach((item, k) => {  // the largest first, where there is room
    if (spots[k].r < 6) return;
    for (const text of [brief(label(item), 26), brief(label(item).split(",")[0], 16)]) {
      const half = text.length * 3.9, centre = Math.min(Math.max(spots[k].x, half + 2), width - half - 2), at = spots[k].y + 4;
      if (taken.some(([a, b, h]) => Math.abs(a - centre) < h + half + 6 && Math.abs(b - at) < 18)) continue;
      taken.push([centre, at, half]);
      root.append(make("text", {class: "strong label", x: centre, y: at, "text-anchor": "middle", "pointer-events": "none"}, text));
      return;
    }
  });
  root.addEventListener("keydown", event => {
    const at = circles.indexOf(document.activeElement), step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (at < 0) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(items[at].id); }
    const next = circles[at + step];
    if (!next) return;
    event.preventDefault();
    circles[at].setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  });
  root.addEventListener("click", event => event.target.dataset?.id && pick(Number(event.target.dataset.id)));
}

export {COLOURS, OTHERS, make, clock, whole, counted, shown, listed, writtenTime, percent, trendOf, brief, tip, lineChart, barChart, MANY_BARS, flowChart, treeChart, mapChart};
