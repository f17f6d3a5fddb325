// Times, live updates and forms of all pages.

// Times in the zone of the reader; the exact time is the title.
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
function times(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const seconds = Math.round((Date.now() - at.getTime()) / 1000);
    const ago = [[86400, "day"], [3600, "hour"], [60, "minute"]].find(([size]) => Math.abs(seconds) >= size);
    const words = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
    const text = Math.abs(seconds) > 30 * 86400 ? day.format(at)
      : ago ? words.format(-Math.round(seconds / ago[0]), ago[1]) : seconds >= 0 ? "just now" : "in a moment";
    if (time.textContent !== text) time.textContent = text;
    time.title = `${day.format(at)} (${time.dateTime})`;
  }
}

// Live: one tab of all has the stream and tells the others.
const live = document.getElementById("live");
const channel = new BroadcastChannel("kb-live");
const needs = document.querySelector("[data-live]");
let timer = 0;
let busy = false;

function changed() {
  if (!needs || timer || document.hidden) return;
  timer = setTimeout(refresh, 250);
}

async function refresh() {
  if (busy) {
    timer = setTimeout(refresh, 250);
    return;
  }
  timer = 0;
  busy = true;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (answer.redirected && new URL(answer.url).pathname === "/login") location.replace("/login");
    if (answer.ok) replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    live.textContent = "offline";
  } finally {
    busy = false;
  }
}

// A run that waits for its start has another page.
const queued = () => document.querySelector("[data-queued]");

// Replaces the parts that changed, and leaves alone a form that somebody fills in.
function replace(next) {
  if (queued() && !next.querySelector("[data-queued]")) {
    location.reload();
    return;
  }
  times(next);
  document.dispatchEvent(new CustomEvent("kb:fresh", { detail: next }));
  for (const part of document.querySelectorAll("[data-live]")) {
    const fresh = next.getElementById(part.id);
    if (!fresh || fresh.innerHTML === part.innerHTML) continue;
    const active = part.contains(document.activeElement) ? document.activeElement : null;
    const dirty = [...part.querySelectorAll("input, textarea, select")].some((field) =>
      field.type === "select-one" ? ![...field.options].every((o) => o.selected === o.defaultSelected) && field.dataset.touched
        : field.value !== field.defaultValue);
    if (dirty || (active && active.matches("input, textarea, select"))) continue;
    const open = [...part.querySelectorAll("details")].map((details) => details.open);
    const picked = new Set([...part.querySelectorAll("[type=checkbox]:checked")].map((box) => box.value));
    const told = [...part.querySelectorAll("form[id] .message")].map((one) => [one.closest("form").id, one.textContent, one.className]);
    const key = active && (active.getAttribute("href") || active.closest("form")?.dataset.action || active.dataset.writing);
    const scroll = [part.scrollLeft, part.scrollTop];
    const writing = [...part.querySelectorAll("[data-writing]")].map((area) => [area.dataset.writing, area.scrollTop]);
    part.replaceChildren(...document.adoptNode(fresh).childNodes);
    for (const { name, value } of fresh.attributes) part.setAttribute(name, value);
    part.querySelectorAll("details").forEach((details, index) => {
      if (open[index] !== undefined) details.open = open[index];
    });
    for (const box of part.querySelectorAll("[type=checkbox]")) box.checked = picked.has(box.value);
    for (const [id, text, kind] of told) {
      const message = document.querySelector(`#${CSS.escape(id)} .message`);
      if (message) [message.textContent, message.className] = [text, kind];
    }
    chosen();
    [part.scrollLeft, part.scrollTop] = scroll;
    for (const area of part.querySelectorAll("[data-writing]")) {
      area.scrollTop = writing.find(([name]) => name === area.dataset.writing)?.[1] ?? area.scrollHeight;
    }
    if (key) {
      const again = [...part.querySelectorAll("a, button, [data-writing]")].find((e) =>
        e.getAttribute("href") === key || e.closest("form")?.dataset.action === key || e.dataset.writing === key);
      again?.focus({ preventScroll: true });
    }
  }
  const nav = next.querySelector(".top nav");
  const own = document.querySelector(".top nav");
  if (nav && own.innerHTML !== nav.innerHTML && !own.contains(document.activeElement)) own.replaceChildren(...nav.childNodes);
  document.dispatchEvent(new Event("kb:refresh"));
}

channel.onmessage = (event) => (event.data === "state" ? changed() : state(event.data));
function state(text) {
  live.textContent = text === "live" ? "" : text;
  live.dataset.state = text;
}

function lead() {
  const source = new EventSource("/api/v1/changes");
  const tell = () => {
    channel.postMessage("state");
    changed();
  };
  const report = (text) => {
    channel.postMessage(text);
    state(text);
  };
  source.onopen = () => {
    report("live");
    tell();
  };
  source.onmessage = tell;
  for (const name of ["run", "triggers", "reset"]) source.addEventListener(name, tell);
  source.onerror = () => report("connecting");
  // For ever: the lock passes to another tab when this one closes.
  return new Promise(() => {});
}

if (queued()) setInterval(changed, 500);
if (navigator.locks) navigator.locks.request("kb-live", lead);
else lead();
document.addEventListener("visibilitychange", () => !document.hidden && changed());
setInterval(() => {
  times(document);
  // What moves without an event: running times, next times.
  if (document.querySelector('[data-status="running"], .status.running')) changed();
}, 10000);
times(document);

// On a phone, the page begins with its content: filters that are not used are folded, and the own page is in view.
if (matchMedia("(max-width: 560px)").matches) {
  for (const fold of document.querySelectorAll('[data-fold="yes"]')) fold.open = false;
  document.querySelector(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

// Forms send JSON to the API.
const toast = document.getElementById("toast");
function say(form, text, good) {
  const place = form.querySelector(".message") || toast;
  place.textContent = text;
  place.classList.toggle("good", Boolean(good));
  if (place === toast) setTimeout(() => (toast.textContent = ""), 6000);
}

// The JSON in a field; where it is none, the field says what it takes.
function parsed(field) {
  try {
    return JSON.parse(field.value);
  } catch {
    throw new Error(`expected ${field.dataset.expects || "JSON"}`);
  }
}

function value(field) {
  const text = field.value;
  switch (field.dataset.type) {
    case "integer":
    case "number":
      return Number(text);
    case "boolean":
      return text === "true";
    case "list":
      // As on the command line.
      return text.trim().startsWith("[") ? parsed(field) : text.split(",").map((one) => one.trim());
    case "json":
      return parsed(field);
    case "time":
      return `${text}:00Z`;
    default:
      return text;
  }
}

// The fields with a value, without the comment.
function fields(form) {
  const found = {};
  for (const field of form.elements) {
    if (!field.name || field.type === "submit" || "comment" in field.dataset || field.value === "") continue;
    try {
      found[field.name] = value(field);
    } catch (error) {
      field.focus();
      throw new Error(`${field.name}: ${error.message}`);
    }
  }
  return found;
}

function body(form, button) {
  const { start, kind, json, digest } = form.dataset;
  if (start) return { definition: start, params: fields(form) };
  if (form.dataset.body) return JSON.parse(form.dataset.body);
  if ("plan" in form.dataset) return { decision: button.value, ...fields(form) };
  if (!kind) return fields(form);
  const comment = form.querySelector("[data-comment]").value.trim() || undefined;
  if (kind === "approve") return { decision: button.value, comment, digest };
  const found = fields(form);
  if (button.value === "reject") return { decision: "reject", comment, digest };
  return { decision: "answer", answer: json === "object" ? found : found.answer, comment, digest };
}

async function send(form, path, content) {
  const headers = { "content-type": "application/json" };
  if (form.dataset.start) headers["idempotency-key"] = form.dataset.key ||= crypto.randomUUID();
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(content) });
  const text = await answer.text();
  const found = text ? JSON.parse(text) : {};
  if (!answer.ok) {
    const more = (found.problems || []).map((problem) => problem.message).join("; ");
    throw new Error([found.detail || answer.statusText, more, found.help].filter(Boolean).join(". "));
  }
  return found;
}

// Opens the page of a run as soon as the run exists.
async function openOnceThere(path) {
  for (let tries = 0; tries < 40; tries++) {
    if ((await fetch(path, { headers: { accept: "text/html" } })).ok) return location.assign(path);
    await new Promise((done) => setTimeout(done, 250));
  }
  throw new Error("It has not started yet; the list of runs shows it when it has.");
}

async function submit(form, button) {
  const { action, confirm: question, next, start } = form.dataset;
  if (question && !confirm(question)) return;
  const content = body(form, button);
  const counted = Number(form.dataset.counted || 0);
  if ("dry" in form.dataset && !counted) {
    const found = await send(form, action, content);
    const count = found.times?.length ?? 0;
    say(form, count ? `${count} runs would start. Press again to start them.` : "Nothing to start.", true);
    if (count) {
      form.dataset.counted = String(count);
      button.textContent = `Start ${count} runs`;
    }
    return;
  }
  const found = await send(form, action, counted ? { ...content, confirm: counted } : content);
  delete form.dataset.counted;
  const other = found.run && action.includes("/runs/") && !action.includes(`/runs/${found.run}/`);
  if (next) location.assign(next);
  else if (form.dataset.open && found.playbook) location.assign(`/playbooks/${encodeURIComponent(found.playbook)}`);
  else if (form.dataset.open && found.run) {
    say(form, "Started.", true);
    await openOnceThere(`${form.dataset.open}${found.run}`);
  }
  else if (other) {
    say(form, `Run ${found.run} is started.`, true);
    await openOnceThere(`/runs/${found.run}`);
  } else if (start) {
    say(form, "Started.", true);
    location.assign(`/runs/${found.run}`);
  } else {
    say(form, "Done.", true);
    form.reset();
    document.activeElement?.blur?.();
    await refresh();
  }
}

// Runs chosen in a list: one request for each.
const boxes = () => [...document.querySelectorAll("[type=checkbox][name=run]:checked")];
function chosen() {
  document.getElementById("bulk")?.classList.toggle("some", boxes().length > 0);
}

async function bulk(form, action) {
  const all = boxes();
  const counted = all.length === 1 ? "1 run" : `${all.length} runs`;
  if (action === "cancel" && !confirm(`Cancel ${counted}?`)) return;
  const failed = [];
  say(form, "", true);
  for (const box of all) {
    try {
      await send(form, `/api/v1/runs/${box.value}/${action}`, {});
      box.checked = false;
    } catch (error) {
      failed.push(`${box.value}: ${error.message}`);
    }
  }
  chosen();
  await refresh();
  say(document.getElementById("bulk"), failed.length ? failed.join("; ") : `${counted}: ${action} requested.`, !failed.length);
}

document.addEventListener("change", chosen);
document.addEventListener("submit", (event) => {
  const form = event.target;
  if ("bulk" in form.dataset) {
    event.preventDefault();
    bulk(form, event.submitter.value).catch((error) => say(form, error.message, false));
    return;
  }
  if (!form.dataset.action) return;
  event.preventDefault();
  const button = event.submitter || form.querySelector("button");
  const buttons = [...form.querySelectorAll("button")];
  buttons.forEach((one) => (one.disabled = true));
  say(form, "", true);
  submit(form, button)
    .catch((error) => say(form, error.message, false))
    .finally(() => buttons.forEach((one) => (one.disabled = false)));
});
