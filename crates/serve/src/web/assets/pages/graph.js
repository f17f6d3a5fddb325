// The graph of a run or playbook: fit, zoom, pan by dragging, and the chosen step in the middle.

const canvas = document.getElementById("canvas");
const bar = document.getElementById("zoombar");
const LEAST = 0.002;
const MOST = 3;
let scale = 1;

const drawing = () => canvas.querySelector("svg");

// Sets the scale; the point of the drawing at `x`, `y` of the canvas stays where it is.
function zoom(next, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const svg = drawing();
  const box = svg.viewBox.baseVal;
  const to = Math.min(MOST, Math.max(LEAST, next));
  const at = [(canvas.scrollLeft + x) / scale, (canvas.scrollTop + y) / scale];
  scale = to;
  svg.setAttribute("width", box.width * scale);
  svg.setAttribute("height", box.height * scale);
  canvas.scrollTo(at[0] * scale - x, at[1] * scale - y);
  bar.querySelector("output").textContent = `${Math.round(scale * 100)} %`;
}

function fit() {
  const box = drawing().viewBox.baseVal;
  const room = Math.min((canvas.clientWidth - 20) / box.width, (canvas.clientHeight - 20) / box.height);
  zoom(Math.min(1, room));
}

// The chosen step, or the first one that failed, waits or runs.
function centre() {
  const node = canvas.querySelector(".node.selected, .node.failed, .node.waiting, .node.running");
  if (!node) return;
  if (scale < 0.6) zoom(1);
  const [part, whole] = [node.getBoundingClientRect(), canvas.getBoundingClientRect()];
  canvas.scrollBy(part.left - whole.left - (whole.width - part.width) / 2, part.top - whole.top - (whole.height - part.height) / 2);
}

bar.addEventListener("click", (event) => {
  const action = event.target.closest("button")?.dataset.zoom;
  if (action === "fit") fit();
  else if (action === "in") zoom(scale * 1.25);
  else if (action === "out") zoom(scale / 1.25);
  else if (action === "step") centre();
});

canvas.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const whole = canvas.getBoundingClientRect();
  zoom(scale * Math.exp(-event.deltaY / 300), event.clientX - whole.left, event.clientY - whole.top);
}, { passive: false });

// Dragging moves the drawing; a press without a move is a click on a step.
let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  if (event.button === 0 && event.pointerType === "mouse") drag = [event.clientX, event.clientY, canvas.scrollLeft, canvas.scrollTop, false];
});
canvas.addEventListener("dragstart", (event) => event.preventDefault());
window.addEventListener("pointermove", (event) => {
  if (!drag) return;
  const [x, y, left, top] = drag;
  const [dx, dy] = [event.clientX - x, event.clientY - y];
  if (Math.abs(dx) + Math.abs(dy) > 4) drag[4] = true;
  if (drag[4]) canvas.scrollTo(left - dx, top - dy);
});
window.addEventListener("pointerup", () => {
  if (drag?.[4]) canvas.addEventListener("click", (event) => event.preventDefault(), { capture: true, once: true });
  drag = null;
});

// An update replaces the drawing by one of its own size.
document.addEventListener("kb:refresh", () => {
  const [left, top] = [canvas.scrollLeft, canvas.scrollTop];
  zoom(scale);
  canvas.scrollTo(left, top);
});

bar.hidden = false;
zoom(1);
centre();
