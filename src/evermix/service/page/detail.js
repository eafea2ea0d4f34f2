// The card of one cluster in a dialog, and what people may do with it.
import {get, place, post} from "./api.js";
import {counted, lineChart, listed, make, percent, shown, whole} from "./charts.js";
import {called} from "./words.js";

const SURE = 6000, NEXT = 3000;  // milliseconds to press again, and between two looks at the card
const box = document.getElementById("detail");

export class Detail {
  #open = null; #look; #timer = null; #parts = {};

  // `look` tells the model's name, its clusters and its timeline, and what to do when it has changed.
  constructor(look) {
    this.#look = look;
    box.addEventListener("close", () => this.#closed());
    box.addEventListener("click", event => { if (event.target === box) box.close(); });
  }

  get id() { return this.#open; }

  async open(id) {
    this.#open = id;
    clearTimeout(this.#timer);
    let found;
    try {
      found = await get(place(this.#look.name(), "clusters", id));
    } catch (error) {
      return this.#missing(id, error);
    }
    if (this.#open !== id) return;
    this.#draw(found);
    if (!box.open) box.showModal();
    box.scrollTop = 0;
    this.#look.opened(id);
    this.#later();
  }

  close() { box.close(); }

  #closed() {
    clearTimeout(this.#timer);
    const id = this.#open;
    this.#open = null;
    this.#look.opened(null);
    document.getElementById(`item-${id}`)?.focus();
  }

  #missing(id, error) {
    const message = error.status === 404 ? `Cluster ${id} has ended.` : error.message ?? "There is no connection.";
    box.replaceChildren(this.#head(called(id, null), id), make("p", {class: "problem", role: "alert"}, message));
    if (!box.open) box.showModal();
  }

  #later() {
    this.#timer = setTimeout(async () => {
      const id = this.#open;
      if (id === null) return;
      if (!document.hidden && !this.#look.paused()) {
        const found = await get(place(this.#look.name(), "clusters", id)).catch(() => null);
        if (found && this.#open === id) this.#facts(found);
      }
      if (this.#open === id) this.#later();
    }, NEXT);
  }

  #head(title, id) {
    const swatch = make("span", {class: "swatch", "aria-hidden": "true"}), close = make("button", {type: "button", "aria-label": "Close"}, "✕");
    swatch.style.background = this.#look.timeline().colour(id);
    close.onclick = () => box.close();
    return make("div", {class: "head"}, make("h2", {id: "detail-title", tabindex: "-1"}, swatch, title), close);
  }

  #draw(found) {
    const {card, words, traits, examples} = found, id = card.id;
    const parts = this.#parts = {facts: make("dl"), said: make("p", {class: "problem", role: "alert"}), chart: make("div")};
    const part = (name, ...content) => make("section", {"aria-label": name}, make("h3", {}, name), ...content);
    const content = [this.#head(called(id, card.name), id)];
    if (words.length) content.push(make("p", {class: "words"}, words.join(", ")));
    content.push(parts.facts, this.#hand(card), parts.said);
    content.push(part("Share of the rows in %, over all rows", parts.chart));
    if (traits.length) {
      const head = ["", "here", "elsewhere"].map(name => make("th", {scope: "col"}, name));
      const rows = traits.map(trait => make("tr", {}, ...trait.map((text, i) => make(i ? "td" : "th", i ? {} : {scope: "row"}, text))));
      content.push(part("What sets it apart", make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows))));
    }
    if (card.examples.length) {
      content.push(part("Typical rows", make("ul", {}, ...card.examples.map(({row}, i) =>
        make("li", {}, `row ${whole(row)}: ${examples[i].join(", ")}`)))));
    }
    if (card.nearest.length) {
      const times = nats => nats > Math.log(1e6) ? "over a million times" : Math.exp(nats) < 1.05 ? "not at all" : `${shown(Number(Math.exp(nats).toPrecision(2)))} times`;
      content.push(part("Nearest, and how much better its rows fit here", make("ul", {}, ...card.nearest.map(({id: other, nats}) => make("li", {}, this.#link(other), ` ${times(nats)}`)))));
    }
    if (card.merged.length) content.push(part("Has taken in", make("p", {}, listed(card.merged, 20))));
    if (card.changes.length) {
      content.push(part("By hand", make("ul", {}, ...card.changes.map(({what, clock, ids}) => make("li", {}, `${what} after ${counted(clock, "row")}: ${ids.join(", ")}`)))));
    }
    box.replaceChildren(...content);
    this.#facts(found);
  }

  #facts({card}) {
    const facts = [["size", counted(Math.round(card.size), "row")], ["share now", percent(card.share)]];
    if (card.recent_share !== null) facts.push(["lately", percent(card.recent_share) + (card.fading ? ", fading" : "")]);
    if (card.born !== null) facts.push(["first row", `${whole(card.born)}${card.since === null ? "" : `, ${card.since}`}`]);
    if (card.age !== null) facts.push(["age", counted(card.age, "row")]);
    if (card.last_seen !== null) facts.push(["last seen after", counted(card.last_seen, "row")]);
    if (card.pinned) facts.push(["pinned", "yes"]);
    this.#parts.facts.replaceChildren(...facts.map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text))));
    requestAnimationFrame(() => {
      const timeline = this.#look.timeline().of(card.id);
      if (timeline && this.#open === card.id) lineChart(this.#parts.chart, {title: "Share in %", xlabel: "rows", when: this.#look.timeline().when(1), lines: [{name: "", ...timeline}]});
    });
  }

  #link(id) {
    const found = make("button", {type: "button", class: "link"}, called(id, this.#look.clusters().name(id)));
    found.onclick = () => this.open(id).then(() => document.getElementById("detail-title")?.focus());
    return found;
  }

  // ---- by hand

  #hand(card) {
    const {id} = card, name = make("input", {id: "new-name", maxlength: 200, autocomplete: "off", placeholder: "no name yet"});
    name.value = card.name ?? "";
    const rename = make("form", {class: "hand"}, make("label", {}, "Name ", name), make("button", {type: "submit"}, "Rename"));
    rename.onsubmit = event => { event.preventDefault(); this.#do("rename", {cluster: id, name: name.value.trim() || null}); };
    const near = card.nearest.map(each => each.id), items = this.#look.clusters().all.filter(item => item.id !== id);
    const rank = item => near.includes(item.id) ? near.indexOf(item.id) : near.length;
    items.sort((a, b) => rank(a) - rank(b) || b.share - a.share);
    const other = make("select", {id: "other"}, ...items.map(item =>
      make("option", {value: item.id}, `${called(item.id, item.name)}${item.words?.length ? `: ${item.words.slice(0, 3).join(", ")}` : ""}`)));
    const merge = make("form", {class: "hand"}, make("label", {}, "Take in ", other), this.#sure("Merge", () => this.#do("merge", {clusters: [id, Number(other.value)]})));
    const pin = make("button", {type: "button"}, card.pinned ? "Unpin" : "Pin");
    pin.title = "a pinned cluster is only changed by hand";
    pin.onclick = () => this.#do(card.pinned ? "unpin" : "pin", {cluster: id});
    const rest = make("div", {class: "hand"}, pin, this.#sure("Split", () => this.#do("split", {cluster: id})));
    return make("div", {class: "hands", role: "group", "aria-label": "By hand"}, rename, ...(items.length ? [merge] : []), rest);
  }

  #sure(text, action) {  // a button that must be pressed twice
    const button = make("button", {type: "button"}, text);
    button.onclick = () => {
      if (button.dataset.sure) return action();
      button.dataset.sure = "yes";
      button.textContent = `${text}: press again`;
      setTimeout(() => { delete button.dataset.sure; button.textContent = text; }, SURE);
    };
    return button;
  }

  async #do(action, body) {
    const {said} = this.#parts, id = this.#open;
    said.textContent = "";
    try {
      const done = await post(place(this.#look.name(), action), {...body, id: crypto.randomUUID?.() ?? `${Date.now()} ${Math.random()}`});
      this.#look.changed();
      await this.open(done.cluster ?? id);
      if (action !== "undo") {
        const undo = make("button", {type: "button", class: "link"}, "Undo");
        undo.title = "gives back what was before, exactly, until rows are learnt";
        undo.onclick = () => this.#do("undo", {});
        this.#parts.said.replaceChildren("Done. ", undo);
      }
      document.getElementById("detail-title")?.focus();
    } catch (error) {
      said.textContent = error.message ?? "There is no connection.";
    }
  }
}
