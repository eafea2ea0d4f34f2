const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id), PAGE = 25, FEW = 6;  // cards that are open from the start
const items = data.items, places = new Map(items.map((item, k) => [item.id, k]));
const noun = data.noun, timed = data.flow && data.flow.xlabel !== "rows", when = clock(data.times);
if (data.flow?.clocked) data.flow.when = when;
for (const about of data.charts) if (about.xlabel === "rows") about.when = when;

// ---- colours and words of the items; those of the stream graph, or the largest, have their own colours

items.forEach(item => {
  item.colour = data.colours[item.id] ?? OTHERS;
  item.text = [item.id, item.name, ...item.words, ...(item.traits ?? []).map(trait => trait[0])].join(" ").toLowerCase();
});
const named = item => item.name !== `${noun} ${item.id}`;  // by a person
const title = item => named(item) ? `${item.name} (${item.id})` : item.name;
const label = item => named(item) ? item.name : item.words.slice(0, 2).join(", ") || item.name;

// ---- the theme: that of the system until the reader chooses

const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
function theme(chosen) {
  if (chosen) root.style.colorScheme = root.dataset.theme = chosen;
  const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
  byId("theme").textContent = now === "dark" ? "☀ Light" : "☾ Dark";
  byId("theme").onclick = () => theme(now === "dark" ? "light" : "dark");
}
dark.addEventListener("change", () => theme());
theme();

function describe(box, facts) {
  for (const [name, text] of Object.entries(facts)) box.append(make("div", {}, make("dt", {}, name), make("dd", {}, text)));
}
describe(byId("facts"), data.facts);
describe(byId("details").querySelector("dl"), data.details);
byId("details").hidden = !Object.keys(data.details).length;

// ---- pages of a long list

function pager(nav, n, page, turn) {
  const pages = Math.ceil(n / PAGE), button = (text, to) => {
    const found = make("button", {type: "button"}, text);
    found.disabled = to < 0 || to >= pages;
    found.onclick = () => turn(to);
    return found;
  };
  nav.replaceChildren(...(pages > 1 ? [button("Previous", page - 1), `page ${page + 1} of ${whole(pages)}`, button("Next", page + 1)] : []));
}

// ---- the items: search, sorting, cards

const collator = new Intl.Collator("en", {numeric: true});
const ORDERS = {
  share: ["largest first", (a, b) => b.share - a.share],
  trend: ["growing most", (a, b) => (b.trend ?? -1) - (a.trend ?? -1)],
  born: ["newest first", (a, b) => (b.born ?? -1) - (a.born ?? -1)],
  age: ["oldest first", (a, b) => (b.age ?? -1) - (a.age ?? -1)],
  first: ["first seen", (a, b) => a.span?.[0] - b.span?.[0]],
  last: ["last seen", (a, b) => b.span?.[1] - a.span?.[1]],
  change: ["changing most", (a, b) => (b.rank ?? 0) - (a.rank ?? 0)],
  name: ["name", (a, b) => collator.compare(a.name, b.name)],
};
const list = {page: 0, sorted: items, found: items};
for (const [name, [text]] of Object.entries(ORDERS)) {
  if (name === "share" || name === "name" || items.some(item => name in item)) byId("sort").append(make("option", {value: name}, text));
}
const pen = make("canvas").getContext("2d"), heading = item => title(item) + (item.pinned ? ", pinned" : "");
pen.font = `600 15px ${getComputedStyle(document.body).fontFamily}`;
const longest = items.reduce((most, item) => Math.max(most, pen.measureText(heading(item)).width), 0);
byId("list").style.setProperty("--name", `${Math.min(Math.max(Math.ceil(longest) + 2, 60), 150)}px`);
byId("list").classList.toggle("plain", !items.some(item => item.trend !== undefined));
byId("items-title").textContent = `${noun[0].toUpperCase()}${noun.slice(1)}s`;
byId("bars").textContent = `Bars show shares: the longest is that of the largest ${noun}.` +
  (items.some(item => item.trend !== undefined) ? " ▲ × 2: its share of the latest rows is twice its share of all, or more; ▼ × 0.5: half of it, or less." : "");

function find() {
  const terms = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  list.found = list.sorted.filter(item => terms.every(term => item.text.includes(term)));
  list.page = 0;
  draw();
}
function draw() {
  const some = list.found.slice(list.page * PAGE, (list.page + 1) * PAGE), most = items[0].share || 1;
  byId("list").replaceChildren(...some.map(item => {
    const trend = make("span", {class: "number trend"}), fill = make("i");
    if (item.trend !== undefined) {
      const {text, kind, hint} = trendOf(item);
      trend.textContent = text;
      trend.classList.add(kind);
      trend.title = hint;
    }
    const swatch = make("span", {class: "swatch", "aria-hidden": "true"});
    swatch.style.background = item.colour;
    fill.style.width = `${100 * item.share / most}%`;
    const head = make("summary", {}, swatch, make("span", {class: "name"}, heading(item)),
      make("span", {class: "words"}, item.words.join(", ")), make("span", {class: "number"}, percent(item.share)),
      make("span", {class: "bar", "aria-hidden": "true"}, fill), trend);
    const entry = make("details", {id: `item-${item.id}`}, head);
    if (items.length <= FEW) {
      entry.open = true;
      entry.append(card(item, entry));
    }
    entry.addEventListener("toggle", () => { if (entry.open && !entry.querySelector(".card")) entry.append(card(item, entry)); });
    return entry;
  }));
  const n = list.found.length;
  byId("count").textContent = n === items.length ? counted(n, noun) : `${whole(n)} of ${counted(items.length, noun)}`;
  pager(byId("pages"), n, list.page, page => { list.page = page; draw(); byId("items").scrollIntoView(); byId("list").querySelector("summary").focus({preventScroll: true}); });
}
function pick(id) {
  if (!places.has(id)) return;
  byId("search").value = "";
  find();
  list.page = Math.floor(list.found.indexOf(items[places.get(id)]) / PAGE);
  draw();
  const entry = byId(`item-${id}`);
  entry.open = true;
  entry.querySelector("summary").focus({preventScroll: true});
  entry.scrollIntoView({block: "start"});
}
function link(id) {
  if (!places.has(id)) return document.createTextNode(String(id));
  const item = items[places.get(id)];
  const found = make("button", {type: "button", class: "link", "aria-label": title(item)}, named(item) ? item.name : String(id));
  found.onclick = () => pick(id);
  return found;
}
const links = ids => ids.flatMap((id, i) => i ? [", ", link(id)] : [link(id)]);

function card(item, entry) {
  const facts = make("dl"), box = make("div", {class: "card"}, make("div", {class: "wide"}, facts));
  const fact = (name, ...values) => facts.append(make("div", {}, make("dt", {}, name), make("dd", {}, ...values)));
  const part = (name, ...content) => box.append(make("div", {}, make("h3", {}, name), ...content));
  const rows = n => counted(Number(n), data.unit.slice(0, -1)), after = n => when ? `${rows(n)}, ${when(n)}` : rows(n);
  fact("size", rows(item.size));
  const streamed = item.recent !== undefined || item.age !== undefined || item.seen !== undefined;
  fact(timed ? "share in all" : streamed ? "share now" : "share", percent(item.share));
  if (item.recent !== undefined) fact("lately", percent(item.recent) + (item.trend === 0 ? ", fading" : ""));
  if (item.born !== undefined) fact("first row", when ? `${whole(item.born)}, ${when(item.born)}` : whole(item.born));
  if (item.parent !== undefined) fact("split from", item.parent);
  if (item.age !== undefined) fact("age", rows(item.age));
  if (item.seen !== undefined) fact("last seen after", after(item.seen));
  if (item.span) fact("there from, to", item.span.map(t => data.flow.x[t]).join(" to "));
  if (item.change) fact(item.change > 0 ? "share rises by" : "share falls by", `${written(100 * Math.abs(item.change), 3)} percentage points`);
  if (item.region !== undefined) fact("region", item.region);
  if (item.merged) fact("has taken in", listed(item.merged, 12));
  if (item.traits) {
    part("what sets it apart", make("table", {}, make("thead", {}, make("tr", {}, ...["", "here", "elsewhere"].map(name => make("th", {scope: "col"}, name)))),
      make("tbody", {}, ...item.traits.map(trait => make("tr", {}, ...trait.map((text, i) => make(i ? "td" : "th", i ? {} : {scope: "row", style: "color:var(--ink)"}, text)))))));
  }
  if (item.examples) part(noun === "topic" ? "documents with most of it" : "typical rows", make("ul", {}, ...item.examples.map(([row, values]) => make("li", {}, values.length ? `${row}: ${brief(values.join(", "), 400)}` : row))));
  if (item.nearest) {
    const clusters = noun === "cluster", far = gap => clusters ? gap : `${gap} away`;
    part(clusters ? "nearest, and how much better its rows fit here" : "nearest",
      make("ul", {}, ...item.nearest.map(([id, gap]) => make("li", {}, link(id), ` ${items[places.get(id)]?.words.slice(0, 4).join(", ") ?? ""} (${far(gap)})`))));
    if (!clusters) box.lastChild.title = "0: the same words, 1: none in common";
  }
  if (item.course) {
    const chart = make("div");
    part(`share in % over ${data.flow.when ? "time" : data.flow.xlabel}`, chart);
    const xs = data.flow.x.map((value, i) => timed ? i : value), ys = item.course.map(share => share === null ? null : 100 * share);
    requestAnimationFrame(() => lineChart(chart, {title: "Share in %", xlabel: data.flow.xlabel, labels: timed ? data.flow.x : null, starts: timed ? data.flow.starts : [], when: data.flow.when, lines: [{name: "", x: xs, y: ys}]}));
  }
  return box;
}
byId("search").addEventListener("input", find);
byId("sort").addEventListener("change", () => { list.sorted = items.toSorted(ORDERS[byId("sort").value][1]); find(); });
addEventListener("keydown", event => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
  if (event.key === "/" && !typing) { event.preventDefault(); byId("search").focus(); }
  if (event.key === "Escape" && document.activeElement === byId("search")) { byId("search").value = ""; find(); }
  const heads = [...byId("list").querySelectorAll("summary")], at = heads.indexOf(document.activeElement);
  const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: heads.length - 1}[event.key];
  const from = at >= 0 || (document.activeElement === byId("search") && event.key === "ArrowDown");
  if (from && to !== undefined && heads[to]) { event.preventDefault(); heads[to].focus(); }
});
find();

// ---- charts, drawn again when the page gets another width

const drawings = [];
function chart(id, paint) {
  byId(id).hidden = false;
  drawings.push(() => paint(byId(id).querySelector(".chart")));
}
if (data.flow) {
  const layers = data.flow.layers.map((values, k) => {
    const item = items[places.get(data.flow.ids[k])], known = values.filter(value => value !== null);
    const mean = known.reduce((sum, value) => sum + value, 0) / Math.max(known.length, 1);
    return item ? {id: item.id, name: title(item), label: label(item), words: item.words.join(", "), colour: item.colour, mean}
      : {id: null, name: "all others", label: "all others", words: "", colour: OTHERS, mean};
  }).filter(layer => layer.id !== null || layer.mean > 0);
  byId("flow-title").textContent = timed || data.flow.when ? "Shares over time" : `Shares of ${noun}s, row by row`;
  byId("flow").querySelector(".hint").textContent = `The largest ${noun}s${timed ? "" : ", and those that have grown most lately"}; choose one to see its card.` +
    (data.flow.marks.length ? ` Dots show when ${noun}s began, ${timed ? "" : "were split from others, became part of others, "}or ended.${timed ? ` ${data.flow.caution[0].toUpperCase()}${data.flow.caution.slice(1)}.` : ""}` : "") +
    (data.flow.left_out ? ` ${data.flow.left_out}.` : "");
  chart("flow", box => flowChart(box, data.flow, layers, pick));
  byId("flow").querySelector(".legend").append(...layers.map(layer => {
    const swatch = make("span", {class: "swatch"});
    swatch.style.background = layer.colour;
    const entry = make(layer.id === null ? "span" : "button", layer.id === null ? {} : {type: "button"}, swatch, layer.id === null ? layer.name : `${layer.id}: ${layer.label}`);
    if (layer.id !== null) entry.onclick = () => pick(layer.id);
    return entry;
  }));
}
for (const about of data.charts) {
  const box = make("div");
  if (about.bars) {
    const panel = make("div", {class: "panel"}, make("h2", {}, about.title), make("p", {class: "hint"}, about.note), box);
    if (about.bars.length > MANY_BARS) byId("charts").after(panel);  // as wide as the page
    else byId("charts").append(panel);
    drawings.push(() => barChart(box, about));
    continue;
  }
  const dots = about.lines.find(line => line.dots && line.name), n = about.lines.length;
  const parts = dots ? `dots: ${dots.name}, line: ${about.lines.at(-1).name}` : n > 1 ? `${n} chains` : "";
  const hint = [about.note, parts].filter(Boolean).join("; ");
  byId("charts").append(make("div", {class: "panel"}, make("h2", {}, about.title), make("p", {class: "hint"}, hint), box));
  drawings.push(() => lineChart(box, about));
}
if (items.some(item => item.scores?.length)) {  // clusters side by side, tinted by what sets them apart
  const some = items.filter(item => item.scores);
  const cell = ([, text, score]) => {
    const found = make("td", {}, text), colour = score > 0 ? "var(--accent)" : "var(--red)", part = Math.round(45 * Math.min(Math.abs(score), 1));
    found.style.background = `color-mix(in srgb, ${colour} ${part}%, transparent)`;
    return found;
  };
  byId("grid").hidden = false;
  byId("grid").querySelector(".hint").textContent = `What is typical of ${some.length < items.length ? `the largest ${some.length}` : "all"} ${noun}s; of categories, the most frequent one and its share. ` +
    "Colours show what sets them apart: blue where values are higher or more frequent than elsewhere, red where they are lower or rarer.";
  byId("grid").querySelector("div").append(make("table", {},
    make("thead", {}, make("tr", {}, make("td"), ...some.map(item => make("th", {scope: "col"}, link(item.id), ` ${percent(item.share)}`)))),
    make("tbody", {}, ...some[0].scores.map(([column], i) => make("tr", {}, make("th", {scope: "row"}, column), ...some.map(item => cell(item.scores[i])))))));
}
if (data.groups.length) {  // fewer, coarser topics, with links to their parts
  const MOST = 8, times = timed ? [...new Set([0, data.flow.x.length - 1])] : [];
  const parts = ids => [...links(ids.slice(0, MOST)), ...(ids.length > MOST ? [` and ${whole(ids.length - MOST)} more`] : [])];
  byId("groups").hidden = false;
  byId("groups-title").textContent = `${whole(data.groups.length)} coarse topics`;
  byId("groups").querySelector("div").append(make("table", {},
    make("thead", {}, make("tr", {}, ...["words that set it apart", "share", ...times.map(t => `in ${data.flow.x[t]}`), "topics"].map(text => make("th", {scope: "col"}, text)))),
    make("tbody", {}, ...data.groups.map(group => make("tr", {}, make("th", {scope: "row"}, (group.name ? [group.name] : group.words).join(", ")), make("td", {}, percent(group.share)),
      ...times.map(t => make("td", {}, percent(group.course[t]))), make("td", {}, ...parts(group.topics)))))));
}
if (data.map.length) chart("map", box => mapChart(box, data.map, items, label, pick));
if (data.tree) {
  byId("tree").querySelector(".hint").textContent = "The further left two lines meet, the less of a gap there is between their clusters. " +
    "At 2.3, rows are ten times as dense in the clusters as between them, at 4.6 a hundred times (natural logarithms)." +
    (data.tree.groups < items.length ? ` It suggests ${data.tree.groups} groups; lines within them are coloured.` : "");
  const leaf = item => [`${item.id}`, [...(named(item) ? [item.name] : []), ...item.words].join(", ")].filter(Boolean).join(": ");
  chart("tree", box => treeChart(box, data.tree, items, leaf, pick));
}
let width = 0;
new ResizeObserver(() => { if (innerWidth !== width) { width = innerWidth; for (const paint of drawings) paint(); } }).observe(document.body);

// ---- the lineage, newest first

const WAYS = {merged: "into", split: "from"};
if (data.events.length) {
  byId("lineage").hidden = false;
  const events = [...data.events].reverse(), log = {page: 0};
  byId("kind").append(...["everything", ...new Set(events.map(([, what]) => what))].map(what => make("option", {}, what)));
  const show = () => {
    const kind = byId("kind").value, some = events.filter(([, what]) => kind === "everything" || what === kind);
    byId("events").replaceChildren(...some.slice(log.page * PAGE, (log.page + 1) * PAGE).map(([rows, what, ids]) => make("tr", {},
      make("td", {}, whole(rows), ...(when ? [` · ${when(rows)}`] : [])), make("td", {}, what), make("td", {}, ...(what in WAYS ? [link(ids[0]), ` ${WAYS[what]} `, link(ids[1])] : links(ids)),
        ` ${items[places.get(what === "split" ? ids[0] : ids.at(-1))]?.words.slice(0, 4).join(", ") ?? ""}`))));
    pager(byId("event-pages"), some.length, log.page, page => { log.page = page; show(); });
  };
  byId("kind").addEventListener("change", () => { log.page = 0; show(); });
  show();
}
