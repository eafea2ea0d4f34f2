// How clusters and events are called.
import {counted, whole} from "./charts.js";

export const called = (id, name) => name ? `${name} (${id})` : `cluster ${id}`;
const listed = ids => ids.length > 4 ? `${ids.slice(0, 4).join(", ")} and ${ids.length - 4} others` : ids.join(", ");

// What an event is about: its kind, a sentence, and the cluster to look at.
export function described(event, name) {
  const who = called(event.cluster, name(event.cluster));
  const by = {
    rename: () => ["hand", event.name ? `cluster ${event.cluster} was named ${event.name}` : `cluster ${event.cluster} lost its name`],
    merge: () => event.action ? ["hand", `${listed(event.merged)} merged into ${who} by hand`] : ["merged", `cluster ${event.cluster} became part of ${called(event.into, name(event.into))}`],
    split: () => ["hand", `${who} was split by hand: ${event.new} is new`],
    pin: () => ["hand", `${who} was pinned`],
    unpin: () => ["hand", `${who} was unpinned`],
    undo: () => ["hand", `undone by hand: ${event.undone} of ${who}`],
    birth: () => event.from === undefined ? ["born", `${who} was born`] : ["split", `${who} was split off ${called(event.from, name(event.from))}`],
    confirmed: () => ["confirmed", `${who} is confirmed, with ${counted(event.size, "row")}`],
    death: () => ["ended", event.why === "faded" ? `${who} has faded` : `${who} was dropped`],
    lost: () => ["ended", `events ${event.from} to ${event.to} were missed`],
  }[event.type];
  const [kind, text] = by ? by() : ["hand", event.type];
  return {kind, text, id: event.into ?? event.cluster};
}

// Several events in one sentence, for those who listen.
export function summed(events, name) {
  if (events.length <= 2) return events.map(event => described(event, name).text).join(". ");
  const kinds = new Map();
  for (const event of events) {
    const {kind} = described(event, name);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const names = {born: "clusters born", split: "split off", confirmed: "confirmed", merged: "merged", ended: "ended", hand: "changed by hand"};
  return [...kinds].map(([kind, n]) => `${whole(n)} ${names[kind]}`).join(", ");
}
