// The log of a step: only the lines in view are in the document.
const ROW = 20;
const CHUNK = 500;
// Browsers cannot show elements of more than some ten million pixels.
const TALLEST = 12_000_000;

// Control characters and characters that change the direction of text are shown as their code.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
export const inert = (text) => text.replace(HIDDEN, (c) => `⟨${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

// What terminals set: bold, dim, italic, underlined, and eight colours. Others are left out.
const STYLE = /\u001b\[([0-9;]*)[mK]/g;
const WEIGHTS = { 1: "t-bold", 2: "t-dim", 3: "t-italic", 4: "t-underline" };
const ENDS = { 22: ["t-bold", "t-dim"], 23: ["t-italic"], 24: ["t-underline"] };

// A line as text nodes in spans of fixed classes: no text becomes an element or an attribute.
function styled(line) {
  const shown = document.createDocumentFragment();
  const weights = new Set();
  let colour = "";
  let at = 0;
  const put = (text) => {
    const classes = [...weights, colour].filter(Boolean).join(" ");
    if (!text) return;
    const part = document.createElement("span");
    if (classes) part.className = classes;
    part.textContent = inert(text);
    shown.append(part);
  };
  for (const found of line.matchAll(STYLE)) {
    put(line.slice(at, found.index));
    at = found.index + found[0].length;
    if (found[0].endsWith("K")) continue;
    const codes = found[1].split(";").map(Number);
    for (let index = 0; index < codes.length; index += 1) {
      const code = codes[index];
      if (code === 38 || code === 48) index += codes[index + 1] === 2 ? 4 : 2;
      else if (code === 0) (weights.clear(), (colour = ""));
      else if (WEIGHTS[code]) weights.add(WEIGHTS[code]);
      else if (ENDS[code]) ENDS[code].forEach((name) => weights.delete(name));
      else if (code >= 30 && code <= 37) colour = `t-${code - 30}`;
      else if (code >= 90 && code <= 97) colour = `t-${code - 90}`;
      else if (code === 39) colour = "";
    }
  }
  put(line.slice(at));
  return shown;
}

const box = document.getElementById("log");
if (box) start();

function start() {
  const space = document.getElementById("log-space");
  const lines = document.getElementById("log-lines");
  const count = document.getElementById("log-count");
  const jump = document.getElementById("log-line");
  const follow = document.getElementById("log-follow");
  const chunks = new Map();
  let total = 0;
  let here = Number(/^#L(\d+)$/.exec(location.hash)?.[1] || 0);
  let loading = new Set();

  // One pixel of the scroll bar stands for more than one line in a very long log.
  const height = () => Math.min(total * ROW, TALLEST);
  const range = () => Math.max(1, height() - box.clientHeight);
  const most = () => Math.max(0, total - Math.floor(box.clientHeight / ROW));
  const first = () => (total * ROW <= TALLEST ? box.scrollTop / ROW : (box.scrollTop / range()) * most());

  async function load(chunk) {
    if (loading.has(chunk)) return;
    loading.add(chunk);
    try {
      const answer = await fetch(`${box.dataset.src}&from=${chunk * CHUNK + 1}&count=${CHUNK}`);
      if (!answer.ok) throw new Error(`the log cannot be read: ${answer.status}`);
      const found = await answer.json();
      chunks.set(chunk, found.lines);
      if (chunks.size > 40) chunks.delete(chunks.keys().next().value);
      if (found.total !== total || !count.textContent) resize(found.total);
      draw();
    } catch (error) {
      count.textContent = error.message;
    } finally {
      loading.delete(chunk);
    }
  }

  function resize(lineCount) {
    const atEnd = box.scrollTop + box.clientHeight >= height() - 2 * ROW;
    total = lineCount;
    box.style.height = `${Math.min(460, Math.max(60, total * ROW + 22))}px`;
    space.style.height = `${height()}px`;
    count.textContent = total ? `${total.toLocaleString("en")} ${total === 1 ? "line" : "lines"}` : "no output";
    jump.max = total;
    if (follow.getAttribute("aria-pressed") === "true" || (atEnd && total && box.scrollTop > 0)) box.scrollTop = height();
  }

  function draw() {
    const from = Math.max(0, Math.floor(first()) - 5);
    const to = Math.min(total, from + Math.ceil(box.clientHeight / ROW) + 12);
    const shown = document.createDocumentFragment();
    for (let number = from; number < to; number += 1) {
      const chunk = Math.floor(number / CHUNK);
      const { channel = "", text = "…" } = chunks.get(chunk)?.[number % CHUNK] || {};
      if (!chunks.has(chunk)) load(chunk);
      const line = document.createElement("div");
      line.className = `line ${channel}${number + 1 === here ? " here" : ""}`;
      const link = document.createElement("a");
      link.href = `#L${number + 1}`;
      link.tabIndex = -1;
      link.textContent = number + 1;
      const content = document.createElement("span");
      content.append(styled(text));
      line.append(link, content);
      shown.append(line);
    }
    lines.replaceChildren(shown);
    lines.style.top = `${Math.max(0, box.scrollTop - (first() - from) * ROW)}px`;
  }

  function go(number) {
    here = Math.min(Math.max(1, number), total);
    const line = Math.max(0, here - 4);
    box.scrollTop = total * ROW <= TALLEST ? line * ROW : (line / Math.max(1, most())) * range();
    draw();
  }

  box.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  jump.addEventListener("change", () => {
    go(Number(jump.value));
    history.replaceState(null, "", `#L${here}`);
  });
  follow.addEventListener("click", () => {
    const on = follow.getAttribute("aria-pressed") !== "true";
    follow.setAttribute("aria-pressed", String(on));
    if (on) box.scrollTop = height();
  });
  addEventListener("hashchange", () => {
    const number = Number(/^#L(\d+)$/.exec(location.hash)?.[1] || 0);
    if (number) go(number);
  });
  document.addEventListener("kb:refresh", () => {
    const last = Math.max(0, Math.floor((total - 1) / CHUNK));
    chunks.delete(last);
    load(last);
  });
  load(here ? Math.floor((here - 1) / CHUNK) : 0).then(() => {
    if (!here) return;
    go(here);
    box.scrollIntoView({ block: "center" });
  });
}
