// The page: one model at a time, its timeline, its clusters, and what happens to them.
import {follow, get, place, token} from "./api.js";
import {OTHERS, flowChart, make, percent, shown, whole, writtenTime} from "./charts.js";
import {Clusters} from "./clusters.js";
import {Timeline} from "./timeline.js";
import {Detail} from "./detail.js";
import {Graphs} from "./graphs.js";
import {called, summed, described} from "./words.js";

const byId = id => document.getElementById(id);
const FEED = 100, DRAW = 400, LIST = 1500, NEWS = 4000, MODELS = 15000;  // events kept; milliseconds between two of the same
const view = {name: null, timeline: new Timeline(), progress: null, events: [], fresh: [], paused: false, stop: () => {}, speed: 0, at: 0};
const clusters = new Clusters(id => view.timeline.colour(id), id => detail.open(id));
const graphs = new Graphs(byId("growth"), byId("likelihood"));
const detail = new Detail({
  name: () => view.name, clusters: () => clusters, timeline: () => view.timeline, paused: () => view.paused,
  changed: () => refresh(), opened: id => remember(id),
});

// ---- what has changed is drawn bit by bit, a part in each frame

const wanted = new Set(), spent = new Map();
let waiting = false;
function draw(...parts) {
  for (const part of parts) wanted.add(part);
  if (waiting || (view.paused && view.name !== null) || !wanted.size) return;
  waiting = true;
  const next = Math.min(...[...wanted].map(part => spent.get(part)?.next ?? 0)) - performance.now();
  setTimeout(() => requestAnimationFrame(frame), Math.min(Math.max(next, 0), 5000));
}
function frame() {
  waiting = false;
  const now = performance.now(), part = [...wanted].find(each => (spent.get(each)?.next ?? 0) <= now + 1);
  if (part && !view.paused) drawNow(part);
  draw();
}
function drawNow(...parts) {
  for (const part of parts) {
    const began = performance.now();
    wanted.delete(part);
    PARTS[part]();
    spent.set(part, {next: began + Math.max(DRAW, 15 * (performance.now() - began))});
  }
}
const PARTS = {facts: drawFacts, flow: drawFlow, graphs: () => graphs.draw(view.timeline.curves(share()), view.timeline.when(share()), waitsFor()), feed: drawFeed, table: drawTable, list: () => clusters.draw(false, view.progress?.rows ? "" : waitsFor())};
const share = () => Number(byId("window").value);

// Why there is nothing to draw, or null.
function waitsFor() {
  const {progress} = view;
  if (!progress?.rows) return "Waiting for the first rows.";
  if (progress.provisional) return `Waiting for more rows to begin with: ${whole(progress.rows)} so far.`;
  return view.timeline.points.length ? null : "Rows that were fitted all at once have no order: what comes from now on is drawn.";
}

const NOTES = {"fit to new rows": "log-likelihood per row, in nats: how well each was predicted before it was learnt; higher is better"};
function drawFacts() {
  const {progress} = view, curves = view.timeline.curves(1), mean = curves.mean.findLast(value => value !== null);
  if (!progress) return;
  const facts = [["rows", whole(progress.rows)], ["clusters", whole(progress.clusters)]];
  if (mean !== undefined && mean !== null) facts.push(["fit to new rows", shown(Number(mean.toPrecision(4)))]);
  facts.push(["rows per second", view.speed >= 0.05 ? shown(Number(view.speed.toPrecision(2))) : "0"]);
  if (progress.waiting) facts.push(["requests that wait", whole(progress.waiting)]);
  if (progress.provisional) facts.push(["state", "waits for more rows to begin with"]);
  byId("facts").replaceChildren(...facts.map(([name, text]) => make("div", {}, make("dt", NOTES[name] ? {title: NOTES[name]} : {}, name), make("dd", {}, text))));
  document.title = `${whole(progress.clusters)} clusters · ${view.name} · evermix`;
}

function drawFlow() {
  const box = byId("flow").querySelector(".chart"), legend = byId("flow").querySelector(".legend");
  const flow = view.timeline.flow(share(), innerWidth < 640 ? 30 : 60);
  view.flow = flow;
  byId("table").hidden = !flow;
  if (!flow) {
    box.replaceChildren(make("p", {class: "hint"}, waitsFor() ?? "There are too few batches of rows yet: shares are drawn from one to the next."));
    return legend.replaceChildren();
  }
  const layers = flow.layers.map((values, k) => {
    const id = flow.ids[k], item = clusters.get(id), mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    if (id === undefined) return {id: null, name: "all others", label: "", words: "", colour: OTHERS, mean};
    const words = clusters.words(id), name = called(id, item?.name) + (item || !clusters.all.length ? "" : ", ended");
    return {id, name, label: item?.name ?? (words.slice(0, 2).join(", ") || `${id}`), words: words.join(", "), colour: view.timeline.colour(id), mean};
  }).filter(layer => layer.id !== null || layer.mean > 1e-6);
  const marks = flow.marks.map(mark => ({...mark, ids: mark.ids.map(id => clusters.label(id))}));
  flowChart(box, {...flow, marks}, layers, id => detail.open(id));
  byId("flow-title").textContent = flow.when ? "Shares of clusters over time" : "Shares of clusters, row by row";
  const named = document.activeElement?.dataset?.layer;
  legend.replaceChildren(...(clusters.known ? layers : []).map(layer => {
    const swatch = make("span", {class: "swatch"});
    swatch.style.background = layer.colour;
    const ended = layer.name.endsWith(", ended") ? ", ended" : "";
    const text = layer.id === null || layer.label === String(layer.id) ? layer.name : `${layer.id}: ${layer.label}${ended}`;
    const entry = make(layer.id === null ? "span" : "button", layer.id === null ? {} : {type: "button", "data-layer": layer.id}, swatch, text);
    if (layer.id !== null) entry.onclick = () => detail.open(layer.id);
    return entry;
  }));
  if (named) legend.querySelector(`[data-layer="${CSS.escape(named)}"]`)?.focus();
  if (byId("table").open) draw("table");
}

function drawTable() {
  const {flow} = view, table = byId("table").querySelector("table");
  if (!flow || !byId("table").open) return;
  const {rows, mean} = view.timeline.curves(1), at = new Map(rows.map((value, i) => [value, mean[i]]));
  const heads = ["rows", ...(flow.when ? ["until"] : []), "clusters", "fit to new rows so far", "born", "split", "merged", "ended", ...flow.ids.map(id => called(id, clusters.name(id)))];
  const lines = flow.bins.map((bin, i) => {
    const value = at.get(bin.rows), marks = ["birth", "split", "merge", "death"].map(what => whole(bin.marks[what]?.n ?? 0));
    return [whole(bin.rows), ...(flow.when ? [flow.when(bin.rows)] : []), whole(bin.clusters), value === undefined || value === null ? "" : shown(Number(value.toPrecision(4))), ...marks, ...flow.ids.map((_, k) => percent(flow.layers[k][i]))];
  }).reverse();
  table.replaceChildren(make("thead", {}, make("tr", {}, ...heads.map(text => make("th", {scope: "col"}, text)))),
    make("tbody", {}, ...lines.map(line => make("tr", {}, ...line.map((text, i) => make(i ? "td" : "th", i ? {} : {scope: "row"}, text))))));
}
byId("table").addEventListener("toggle", () => draw("table"));

const clock = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
function drawFeed() {
  const lines = view.events.slice(-FEED).reverse().map(event => {
    const {kind, text, id} = described(event, each => clusters.name(each)), item = clusters.get(id);
    const words = item && !item.name ? (item.words ?? []).slice(0, 3).join(", ") : "";
    const link = make("button", {type: "button", class: "link"}, words ? `${text}: ${words}` : text);
    link.onclick = () => detail.open(id);
    const birth = event.type === "birth", found = birth && event.from !== undefined ? "since " : "";  // its rows began before a review found it
    const {born, since} = (birth ? [item, event].find(each => each?.born) : null) ?? {born: event.clock, since: event.row_time};
    const date = since === undefined ? null : typeof since === "number" ? writtenTime(since) : since.replace("T", " ");
    const when = date ? `${date}, ` : event.time && !found ? `${clock.format(1000 * event.time)}, ` : "";
    return make("li", {"data-kind": kind}, item ? link : text, make("span", {class: "when"}, born === undefined ? "" : ` ${found}${when}row ${whole(born)}`));
  });
  byId("feed").replaceChildren(...(lines.length ? lines : [make("li", {}, "Nothing yet.")]));
}

// ---- the model

let listing = null, listed = 0, stale = false;
function refresh() {  // ask for the clusters again, seldom if that takes long
  stale = true;
  if (listing !== null || view.name === null || document.hidden) return;
  listing = setTimeout(async () => {
    const name = view.name, began = performance.now();
    let old = stale = false;  // whether the answer is of a copy of a moment ago, after which nothing may come
    try {
      const found = await get(`${place(name, "clusters")}?words=true`);
      if (name === view.name) taken(found);
      old = found.sequence < (view.progress?.sequence ?? 0);
    } catch {
      stale = true;
    }
    listed = performance.now() + (old ? LIST : Math.min(Math.max(LIST, 8 * (performance.now() - began)), 30000));
    listing = null;
    if (stale || old || name !== view.name) refresh();
  }, Math.max(listed - performance.now(), 0));
}
document.addEventListener("visibilitychange", () => { if (stale) refresh(); });
function taken(found) {
  if (!clusters.known) spent.delete("flow");  // which has had no words so far
  clusters.take(found);
  draw("list", "flow", "feed");
  if (view.wanted !== null) detail.open(view.wanted);
  view.wanted = null;
}

function watch(name, id = null) {
  if (view.paused) byId("pause").click();
  view.stop();
  Object.assign(view, {name, wanted: id, timeline: new Timeline(), progress: null, events: [], fresh: [], speed: 0, at: 0});
  clusters.clear();
  byId("title").textContent = name;
  byId("models").value = name;
  byId("model").hidden = false;
  listed = 0;
  view.stop = follow(name, {
    begin: () => { Object.assign(view, {timeline: new Timeline(), events: [], progress: null}); refresh(); },
    event: event => {
      view.events.push(event);
      if (view.events.length > 2 * FEED) view.events.splice(0, FEED);
      if (view.progress && view.fresh.length < 1000) view.fresh.push(event);
      refresh();
      draw("feed");
    },
    progress: news => {
      const now = performance.now(), before = view.progress;
      if (before && now > view.at) {
        const rate = 1000 * (news.rows - before.rows) / (now - view.at), weight = Math.min((now - view.at) / 3000, 1);
        view.speed += weight * (Math.max(rate, 0) - view.speed);
      }
      view.at = now;
      view.timeline.replace(news.first, news.points);
      view.progress = news;
      refresh();
      if (!before && !view.paused) drawNow(...Object.keys(PARTS));  // at once: no part is empty beside others
      else draw("facts", "flow", "graphs");
    },
    state,
  });
  remember(id);
}

function state(name, text) {
  const box = byId("state");
  view.state = [name, text];
  const [kind, said] = view.paused && name === "live" ? ["paused", "paused"] : [name, text];
  box.dataset.state = kind;
  if (box.textContent !== said) box.textContent = said;
  if (name === "token") askToken("This token was not accepted.");
  if (name === "gone") choose();
}

setInterval(() => {  // what happened, for those who cannot see it; and rates fall when nothing comes
  if (view.fresh.length && !view.paused) byId("news").textContent = summed(view.fresh.splice(0), id => clusters.name(id));
  if (view.speed && performance.now() - view.at > 2000) { view.speed *= 0.4; draw("facts"); }
}, NEWS);

// ---- which model

function remember(id) {
  const hash = view.name === null ? "" : `#${view.name}${id === null ? "" : `/${id}`}`;
  if (location.hash !== hash) history.replaceState(null, "", hash || location.pathname);
}
const fromAddress = () => {
  const [name, id] = decodeURIComponent(location.hash.slice(1)).split("/");
  return {name: name || null, id: /^\d+$/.test(id ?? "") ? Number(id) : null};
};

async function choose() {
  let found;
  try {
    found = (await get("models")).models;
  } catch (error) {
    if (error.status === 401) return askToken(token.value ? "This token was not accepted." : "");
    state("wait", "not connected, trying again");
    return setTimeout(choose, 2000);
  }
  const names = found.map(model => model.name), {name, id} = fromAddress();
  byId("models").replaceChildren(...names.map(each => make("option", {value: each}, each)));
  byId("models-box").hidden = names.length < 2;
  byId("empty").hidden = names.length > 0;
  if (!names.length) {
    byId("model").hidden = true;
    byId("empty").querySelector("p").textContent = "There is no model. This makes one that learns texts, and this page will show it:";
    byId("empty").querySelector("pre").textContent = `curl -X PUT ${location.origin}${location.pathname}models/tickets \\\n  -H 'Content-Type: application/json' -d '{"kind": "texts"}'`;
    state("wait", "waiting for a model");
    view.name = null;
    return setTimeout(choose, 2000);
  }
  if (names.includes(view.name) && view.state?.[0] !== "gone") byId("models").value = view.name;
  else if (names.includes(name)) watch(name, id);
  else watch(found.reduce((best, model) => (model.learnt_at ?? 0) > (best.learnt_at ?? 0) ? model : best).name);  // the one that has learnt last
}
byId("models").addEventListener("change", () => watch(byId("models").value));
addEventListener("hashchange", () => {
  const {name, id} = fromAddress();
  if (name && name !== view.name) watch(name, id);
  else if (id !== null && id !== detail.id) detail.open(id);
});
setInterval(() => { if (view.name !== null && !document.hidden && view.state?.[0] === "live") choose(); }, MODELS);

function askToken(problem) {
  const box = byId("access"), form = box.querySelector("form");
  box.querySelector(".problem").textContent = problem;
  box.oncancel = event => event.preventDefault();
  form.onsubmit = () => { token.value = byId("token").value; view.name = null; view.stop(); choose(); };
  if (!box.open) box.showModal();
}

// ---- controls

byId("window").addEventListener("change", () => { spent.clear(); draw("flow", "graphs"); });
byId("pause").addEventListener("click", () => {
  view.paused = !view.paused;
  byId("pause").setAttribute("aria-pressed", String(view.paused));
  byId("pause").textContent = view.paused ? "Go on" : "Pause";
  state(...(view.state ?? ["wait", "connecting"]));
  draw();
});
addEventListener("keydown", event => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "") || document.querySelector("dialog[open]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { event.preventDefault(); byId("search").focus(); }
  if (event.key === "p") byId("pause").click();
});

const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
function theme(chosen) {  // that of the system until the reader chooses
  if (chosen) root.style.colorScheme = root.dataset.theme = chosen;
  const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
  byId("theme").textContent = now === "dark" ? "☀ Light" : "☾ Dark";
  byId("theme").onclick = () => theme(now === "dark" ? "light" : "dark");
  graphs.recolour();
}
dark.addEventListener("change", () => theme());
theme();
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; graphs.resize(); spent.clear(); draw("flow"); } });

if (root.dataset.token === "yes" && !token.value) askToken("");
else choose();
