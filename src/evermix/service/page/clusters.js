// The clusters as cards: found, sorted, and kept in place while somebody is among them.
import {counted, make, percent, trendOf, whole} from "./charts.js";
import {called} from "./words.js";

const PAGE = 24, FRESH = 12000;  // cards at a time, and milliseconds for which a new one is marked
const FIRST = 256, LATE = 0.75;  // rows that begin a model, in which nothing is new, and the part of those known before that is old
const byId = id => document.getElementById(id);
const collator = new Intl.Collator("en", {numeric: true});
const ORDERS = {
  share: (a, b) => b.share - a.share,
  trend: (a, b) => (b.trend ?? -1) - (a.trend ?? -1),
  born: (a, b) => b.id - a.id,
  name: (a, b) => collator.compare(called(a.id, a.name), called(b.id, b.name)),
};

export class Clusters {
  #items = new Map(); #nodes = new Map(); #born = new Map(); #words = new Map(); #rows = 0; #hidden = 0; #shown = PAGE; #colour; #pick; #known = false;

  constructor(colour, pick) {
    this.#colour = colour;
    this.#pick = pick;
    byId("search").addEventListener("input", () => { this.#shown = PAGE; this.draw(true); });
    byId("sort").addEventListener("change", () => this.draw(true));
    byId("list").addEventListener("click", event => {
      const card = event.target.closest("button");
      if (card) pick(Number(card.dataset.id));
    });
    byId("list").addEventListener("keydown", event => this.#move(event));
    byId("search").addEventListener("keydown", event => {
      if (event.key === "ArrowDown") { event.preventDefault(); byId("list").querySelector("button")?.focus(); }
      if (event.key === "Escape") { byId("search").value = ""; this.draw(true); }
    });
  }

  clear() {
    this.#items.clear();
    this.#nodes.clear();
    this.#born.clear();
    this.#words.clear();
    this.#known = false;
    this.#rows = 0;
    byId("list").replaceChildren();
  }
  get known() { return this.#known; }
  get all() { return [...this.#items.values()]; }
  get(id) { return this.#items.get(id); }
  name(id) { return this.#items.get(id)?.name ?? null; }
  // Its name, or its id and the words that name it best.
  label(id) {
    const words = this.words(id).slice(0, 2).join(", ");
    return this.name(id) ?? (words ? `${id}: ${words}` : `${id}`);
  }
  // The words of a cluster, also of one that has ended since.
  words(id) { return this.#words.get(id) ?? []; }

  // Take a list of the clusters after so many rows. Those are new that were not there and began late: a review may find them after their first rows.
  take({clusters, rows, hidden = 0}) {
    const before = this.#items, late = Math.max(FIRST, LATE * this.#rows);
    this.#rows = rows;
    this.#hidden = hidden;
    this.#items = new Map(clusters.map(item => {
      const text = [item.id, item.name ?? "", called(item.id, item.name), ...(item.words ?? [])].join(" ").toLowerCase();
      if (before.size && !before.has(item.id) && (item.born ?? Infinity) > late && rows > FIRST) this.#born.set(item.id, performance.now());
      if (item.words?.length) this.#words.set(item.id, item.words);
      return [item.id, {...item, text}];
    }));
    this.#known = true;
    if (this.#born.size) setTimeout(() => this.draw(), FRESH + 100);
  }

  // Draw the cards; unless wanted, their order stays while one of them has the focus. `waits` says why there are none.
  draw(sort = false, waits = "") {
    byId("waits").textContent = this.#items.size ? "" : waits || (this.#known ? "" : "The clusters are being read.");
    const terms = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean), list = byId("list");
    let found = this.all.filter(item => terms.every(term => item.text.includes(term)));
    found.sort(ORDERS[byId("sort").value]);
    const n = found.length, held = !sort && list.contains(document.activeElement);
    found = found.slice(0, this.#shown);
    if (held) {
      const there = new Set(found.map(item => item.id)), kept = [...list.children].map(node => Number(node.firstChild.dataset.id));
      const stay = kept.filter(id => this.#items.has(id) && (there.has(id) || id === Number(document.activeElement.dataset.id)));
      found = [...stay.map(id => this.#items.get(id)), ...found.filter(item => !stay.includes(item.id))];
    }
    const most = Math.max(...this.all.map(item => item.share), 1e-9);
    const nodes = found.map(item => this.#node(item, most));
    const old = [...list.children];
    if (nodes.length !== old.length || nodes.some((node, i) => node !== old[i])) {
      if (held) {  // what has the focus must not leave the page
        for (const node of old) if (!nodes.includes(node)) node.remove();
        for (const node of nodes) if (!node.isConnected) list.append(node);
      } else list.replaceChildren(...nodes);
    }
    for (const id of this.#nodes.keys()) if (!this.#items.has(id)) this.#nodes.delete(id);
    const all = `${counted(this.#items.size, "cluster")}${this.#hidden ? ` and ${whole(this.#hidden)} of less than half a row` : ""}`;
    byId("count").textContent = !this.#known ? "" : n === this.#items.size ? all : `${whole(n)} of ${all}`;
    this.#more(n);
  }

  #more(n) {
    const left = n - this.#shown, nav = byId("more");
    if (left <= 0) return nav.replaceChildren();
    const text = `Show ${whole(Math.min(left, PAGE))} more of ${whole(left)}`;
    if (nav.firstChild?.textContent === text) return;
    const button = make("button", {type: "button"}, text);
    button.onclick = () => { this.#shown += PAGE; this.draw(true); };
    nav.replaceChildren(button);
  }

  #node(item, most) {
    let node = this.#nodes.get(item.id);
    if (!node) {
      const parts = {swatch: make("span", {class: "swatch", "aria-hidden": "true"}), name: make("span", {class: "name"}), share: make("span", {class: "number"}),
        words: make("span", {class: "words"}), bar: make("i"), trend: make("span", {class: "trend"})};
      const button = make("button", {type: "button", class: "cluster", id: `item-${item.id}`, "data-id": item.id, "aria-haspopup": "dialog"},
        parts.swatch, parts.name, parts.share, parts.words, make("span", {class: "bar", "aria-hidden": "true"}, parts.bar), parts.trend);
      node = make("li", {}, button);
      node.parts = parts;
      this.#nodes.set(item.id, node);
    }
    const {parts} = node, set = (part, text) => { if (part.textContent !== text) part.textContent = text; };
    set(parts.name, called(item.id, item.name) + (item.pinned ? ", pinned" : ""));
    set(parts.share, percent(item.share));
    set(parts.words, (item.words ?? []).join(", "));
    const {text, kind, hint} = trendOf(item);
    set(parts.trend, text);
    parts.trend.className = `trend ${kind}`;
    parts.trend.title = hint;
    parts.swatch.style.background = this.#colour(item.id);
    parts.bar.style.width = `${100 * item.share / most}%`;
    const age = performance.now() - (this.#born.get(item.id) ?? -Infinity);
    if (age >= FRESH) this.#born.delete(item.id);
    node.firstChild.classList.toggle("fresh", age < FRESH);
    return node;
  }

  #move(event) {
    const cards = [...byId("list").querySelectorAll("button")], at = cards.indexOf(document.activeElement);
    const to = {ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: cards.length - 1}[event.key];
    if (at < 0 || to === undefined || !cards[to]) return;
    event.preventDefault();
    cards[to].focus();
  }
}
