// What models write at the moment, below the steps that run. It is not stored; only the last part is kept.
import { inert } from "./log.js";

const MOST = 4000;
const STEPS = 50;
const summary = document.getElementById("summary");
const texts = new Map();
let source = null;
let stop = () => {};
let drawing = 0;

// Writes the texts into a document: this one, or the next state of this one.
function draw(root) {
  for (const area of root.querySelectorAll("[data-writing]")) {
    const found = texts.get(area.dataset.writing);
    area.hidden = !found;
    const text = found ? inert(found.text) : "";
    if (area.textContent === text) continue;
    const atEnd = area.scrollTop + area.clientHeight >= area.scrollHeight - 8;
    area.textContent = text;
    if (atEnd) area.scrollTop = area.scrollHeight;
  }
}

function soon() {
  drawing ||= requestAnimationFrame(() => {
    drawing = 0;
    draw(document);
  });
}

function take({ type, instance, text }) {
  if (type === "step:token") {
    const found = texts.get(instance) || { text: "" };
    if (found.ended) found.text += "\n\n";
    found.ended = false;
    found.text = (found.text + text).slice(-MOST);
    // The newest last: the step that wrote nothing for the longest time makes room.
    texts.delete(instance);
    texts.set(instance, found);
    if (texts.size > STEPS) texts.delete(texts.keys().next().value);
  } else if (type === "model:call" && texts.has(instance)) {
    texts.get(instance).ended = true;
    return;
  } else if (type === "step:end") {
    texts.delete(instance);
  } else return;
  soon();
}

function open() {
  const { run, seq } = summary.dataset;
  return new Promise((resolve) => {
    source = new EventSource(`/api/v1/runs/${run}/events?tokens=true&after=${seq}`);
    stop = () => {
      source?.close();
      source = null;
      resolve();
    };
    source.onmessage = (event) => take(JSON.parse(event.data));
    source.onerror = () => source?.readyState === EventSource.CLOSED && stop();
    for (const name of ["end", "gone"]) source.addEventListener(name, stop);
  });
}

// Browsers open six connections to a server, so two tabs have such a stream: those that are looked at.
function follow() {
  if (source || document.hidden || summary.dataset.status !== "running") return;
  if (!navigator.locks) {
    open();
    return;
  }
  const options = { ifAvailable: true };
  const one = (lock) => (lock && !source ? open() : null);
  navigator.locks.request("kb-writing-1", options, (lock) =>
    lock ? one(lock) : navigator.locks.request("kb-writing-2", options, one));
}

document.addEventListener("visibilitychange", () => (document.hidden ? stop() : follow()));
document.addEventListener("kb:fresh", (event) => draw(event.detail));
document.addEventListener("kb:refresh", () => {
  draw(document);
  follow();
});
follow();
