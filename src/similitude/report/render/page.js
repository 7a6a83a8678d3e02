"use strict";

// Data that Python wrote into the page.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const byId = (id) => document.getElementById(id);

// The switch between light and dark colors; the choice is stored where the browser allows it.
function themes() {
  const root = document.documentElement;
  const button = byId("theme");
  const dark = () => {
    const chosen = root.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const show = () => { button.textContent = dark() ? "Light colors" : "Dark colors"; };
  try {
    const kept = localStorage.getItem("similitude-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch { /* no storage */ }
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("similitude-theme", root.dataset.theme); } catch { /* no storage */ }
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}

// Charts take their colors from the style sheet, so that they follow the color scheme.
async function charts() {
  const { config, specs } = read("chart-data");
  const options = { config, renderer: "svg", actions: false, ast: true, defaultStyle: false, logLevel: 1 };
  for (const place of all("[data-chart]")) {
    await vegaEmbed(place, specs[place.dataset.chart], options);
  }
  document.body.dataset.charts = "drawn";
}

// Copy drawings from elsewhere on the page, or from the hidden ones.
function fill(root) {
  for (const place of all("[data-drawing]", root)) {
    const copy = byId(`drawing-${place.dataset.drawing}`).cloneNode(true);
    copy.removeAttribute("id");
    place.replaceChildren(copy);
  }
}

// Details of an example or a landmark, in a dialog (which handles Escape and returns the focus).
function details() {
  const dialog = byId("detail");
  const open = (id) => {
    const content = byId(id).content.cloneNode(true);
    fill(content);
    byId("detail-title").textContent = byId(id).dataset.title;
    byId("detail-body").replaceChildren(content);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-open]");
    if (button) return open(button.dataset.open);
    if (event.target === dialog || event.target.closest("[data-close]")) return dialog.close();
    const row = event.target.closest("tr[data-row]");
    if (row && !getSelection().toString()) row.querySelector("[data-open]").click();
  });
}

// The table of examples: sort by a column; filter by mistakes, class and text.
function table() {
  const body = byId("example-rows");
  const rows = all("tr", body);
  const wrong = byId("only-wrong"), label = byId("of-class"), text = byId("with-text");
  const filter = () => {
    const words = text.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const keep = (!wrong || !wrong.checked || row.dataset.wrong === "1")
        && (!label || !label.value || row.dataset.label === label.value)
        && (!words || row.dataset.text.toLowerCase().includes(words));
      row.hidden = !keep;
      shown += keep;
    }
    byId("shown").textContent = `${shown} of ${rows.length} examples shown`;
  };
  const sort = (button) => {
    const head = button.closest("th"), up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of all("th[aria-sort]", head.parentNode)) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => row.querySelector(`[data-key="${button.dataset.sort}"]`).dataset.value;
    const number = rows.every((row) => key(row) !== "" && !Number.isNaN(Number(key(row))));
    const compare = (a, b) => (number ? Number(key(a)) - Number(key(b)) : key(a).localeCompare(key(b)));
    body.append(...rows.sort((a, b) => (up ? compare(a, b) : compare(b, a))));
  };
  for (const control of [wrong, label, text]) if (control) control.addEventListener("input", filter);
  for (const button of all("[data-sort]")) button.addEventListener("click", () => sort(button));
  filter();
}

// Hovering over the matrix shows the pair; its value is decoded from the color.
function matrix() {
  const image = byId("matrix-image"), pair = byId("pair");
  const { colors, low, high, indices, labels } = read("matrix-data");
  const level = new Map(colors.map((color, i) => [color, i]));
  const canvas = document.createElement("canvas");
  const points = canvas.getContext("2d", { willReadFrequently: true });
  const start = () => {
    canvas.width = image.naturalWidth;
    canvas.height = image.naturalHeight;
    points.drawImage(image, 0, 0);
  };
  const show = (event) => {
    const box = image.getBoundingClientRect(), n = indices.length;
    const place = (at, from, size) => Math.min(n - 1, Math.max(0, Math.floor(((at - from) / size) * n)));
    const i = place(event.clientY, box.top, box.height), j = place(event.clientX, box.left, box.width);
    const color = [...points.getImageData(j, i, 1, 1).data].slice(0, 3);
    const at = level.get(color.map((part) => part.toString(16).padStart(2, "0")).join(""));
    const value = at === undefined ? "" : `, about ${(low + ((high - low) * at) / 255).toPrecision(3)}`;
    pair.textContent = `Similarity of example ${indices[i]} (${labels[i]}) to example ${indices[j]} (${labels[j]})${value}`;
  };
  if (image.complete) start();
  else image.addEventListener("load", start);
  image.addEventListener("pointermove", show);
  image.addEventListener("click", show);
}

function copying() {
  for (const button of all("[data-copy]")) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(byId(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }
}

byId("contents").open = matchMedia("(min-width: 1020px)").matches;
for (const form of all("form")) form.addEventListener("submit", (event) => event.preventDefault());
themes();
details();
table();
matrix();
copying();
charts();
