// Requests to the service: the token, answers, and events that go on after every interruption.
const KEY = "evermix token", RETRY = [500, 1000, 2000, 4000], FEED = 60, UNSEEN = 20000;

export const token = {
  get value() { return sessionStorage.getItem(KEY) ?? ""; },
  set value(text) { sessionStorage.setItem(KEY, text); },
};

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function send(path, {headers = {}, ...rest} = {}) {
  const access = token.value ? {Authorization: `Bearer ${token.value}`} : {};
  const response = await fetch(path, {...rest, headers: {...access, ...headers}, cache: "no-store", credentials: "omit"});
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new Refused(response.status, said.error ?? `the service answers with status ${response.status}.`);
}
export const get = async path => (await send(path)).json();
export async function post(path, value) {
  const response = await send(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(value)});
  return response.json();
}
export const place = (name, ...rest) => ["models", name, ...rest].map(encodeURIComponent).join("/");

async function* messages(body) {  // Server-Sent Events of a stream of bytes
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const message = {};
        for (const line of block.split("\n")) {
          const at = line.indexOf(": ");
          if (at > 0) message[line.slice(0, at)] = line.slice(at + 2);
        }
        if (message.data) yield message;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// Follow a model until the returned function is called. `on` has four functions: begin(about) when
// everything starts anew, event(event), progress(news), and state(name, text). Tabs that are not
// looked at let go after a while: a browser has few connections to one place.
export function follow(name, on) {
  const ended = new AbortController();
  let last = null, tries = 0, wake = () => {}, connection = new AbortController(), unseen = null;
  const pause = ms => new Promise(done => {
    const timer = ms === Infinity ? null : setTimeout(done, ms);
    wake = () => { clearTimeout(timer); done(); };
  });
  const options = {signal: ended.signal}, leave = () => connection.abort();
  const look = () => {
    clearTimeout(unseen);
    if (document.hidden) unseen = setTimeout(leave, UNSEEN);
    else wake();
  };
  ended.signal.addEventListener("abort", () => { clearTimeout(unseen); leave(); wake(); });
  addEventListener("online", () => wake(), options);
  addEventListener("pagehide", leave, options);
  addEventListener("pageshow", look, options);
  document.addEventListener("visibilitychange", look, options);

  async function once() {
    const about = await get(place(name));
    if (about.status !== "ready") throw new Refused(503, about.problem ?? `the model is ${about.status}.`);
    if (last === null || about.last_event < last) {
      on.begin(about);
      last = Math.max(about.last_event - FEED, 0);
    }
    connection = new AbortController();
    const headers = {"Last-Event-ID": String(last)};
    const response = await send(`${place(name, "events")}?progress=true`, {headers, signal: connection.signal});
    tries = 0;
    on.state("live", "live");
    for await (const {event, id, data} of messages(response.body)) {
      if (id) last = Number(id);
      const value = JSON.parse(data);
      if (event === "progress") on.progress(value);
      else on.event(value);
    }
  }
  (async () => {
    while (!ended.signal.aborted) {
      let said = "not connected, trying again";
      try {
        await once();
      } catch (error) {
        if (ended.signal.aborted) return;
        if (error.status === 401) return on.state("token", "a token is needed");
        if (error.status === 404) return on.state("gone", "this model is gone");
        if (error.status !== undefined) said = error.message;
      }
      if (ended.signal.aborted) return;
      on.state("wait", connection.signal.aborted ? "not looked at" : said);
      await pause(document.hidden && connection.signal.aborted ? Infinity : RETRY[Math.min(tries++, RETRY.length - 1)]);
    }
  })();
  return () => ended.abort();
}
