"use strict";

// Data that Python wrote into the page.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const byId = (id) => document.getElementById(id);

// A new element with text or children.
function make(tag, attributes = {}, ...children) {
  const one = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
  one.append(...children);
  return one;
}

const SVG = "http://www.w3.org/2000/svg";
function drawn(tag, attributes) {
  const one = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
  return one;
}

const percent = (share) => (Number.isFinite(share) ? `${(100 * share).toFixed(share > 0.0995 && share < 0.9005 ? 0 : 1)} %` : "–");

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

// The contents mark the section that is being read.
function contents() {
  const links = new Map(all("nav.contents a").map((link) => [link.hash.slice(1), link]));
  const mark = () => {
    let current = null;
    for (const section of all("main > section")) {
      if (section.getBoundingClientRect().top < innerHeight / 3 || !current) current = section;
    }
    if (innerHeight + scrollY >= document.documentElement.scrollHeight - 2) current = all("main > section").at(-1);
    for (const [id, link] of links) {
      if (id === current.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
}

// The chart library is stored compressed; the policy of the page knows the hash of its text.
async function library() {
  const packed = Uint8Array.from(atob(byId("library").textContent), (letter) => letter.charCodeAt(0));
  const text = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  document.head.append(make("script", {}, await text));
}

// Charts take their colors from the style sheet, so that they follow the color scheme; folded ones are drawn when opened.
async function charts() {
  await library();
  const { config, specs } = read("chart-data");
  const options = { config, renderer: "svg", actions: false, ast: true, defaultStyle: false, logLevel: 1 };
  const draw = async (root) => {
    for (const place of all("[data-chart]:not([data-drawn])", root)) {
      if (place.closest("details:not([open])")) continue;
      place.dataset.drawn = "";
      await vegaEmbed(place, specs[place.dataset.chart], options);
    }
  };
  for (const fold of all("details")) fold.addEventListener("toggle", () => draw(fold));
  await draw(document);
  document.body.dataset.charts = "drawn";
}

// Every figure can be saved: drawings with the colors of the page as SVG, and anything as PNG.
function saving() {
  const save = (address, name) => make("a", { href: address, download: name }).click();
  const picture = (svg) => {
    const copy = svg.cloneNode(true), box = svg.getBoundingClientRect();
    const pairs = [[svg, copy], ...all("*", svg).map((one, i) => [one, all("*", copy)[i]])];
    for (const [one, other] of pairs) {
      const style = getComputedStyle(one);
      for (const name of ["fill", "stroke", "stroke-width", "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "text-anchor"]) {
        other.setAttribute(name, style.getPropertyValue(name));
      }
      other.removeAttribute("class");
    }
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
    return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  };
  const toPng = (address, width, height, smooth, name) => {
    const image = new Image(), canvas = make("canvas", { width: 2 * width, height: 2 * height });
    image.addEventListener("load", () => {
      const paper = canvas.getContext("2d");
      paper.fillStyle = getComputedStyle(document.querySelector("main > section")).backgroundColor;
      paper.fillRect(0, 0, canvas.width, canvas.height);
      paper.imageSmoothingEnabled = smooth;
      paper.drawImage(image, 0, 0, canvas.width, canvas.height);
      save(canvas.toDataURL("image/png"), name);
    });
    image.src = address;
  };
  for (const figure of all("figure")) {
    const inside = () => figure.querySelector(".chart svg, .map svg");
    const name = figure.querySelector("[data-chart]")?.dataset.chart ?? figure.className;
    const svg = make("button", { type: "button", "data-save": "svg" }, "SVG");
    const png = make("button", { type: "button", "data-save": "png" }, "PNG");
    svg.addEventListener("click", () => save(picture(inside()), `${name}.svg`));
    png.addEventListener("click", () => {
      const image = figure.querySelector("img"), box = (inside() ?? image).getBoundingClientRect();
      toPng(inside() ? picture(inside()) : image.src, box.width, box.height, Boolean(inside()), `${name}.png`);
    });
    const kinds = figure.querySelector(".chart, .map") ? [svg, png] : [png];
    figure.append(make("p", { class: "save" }, "Save as ", ...kinds));
  }
}

// Copy a drawing from elsewhere on the page, or from the hidden ones.
function drawingOf(number) {
  const copy = byId(`drawing-${number}`).cloneNode(true);
  copy.removeAttribute("id");
  return copy;
}

function fill(root) {
  for (const place of all("[data-drawing]", root)) place.replaceChildren(drawingOf(place.dataset.drawing));
}

// A dialog (which handles Escape and returns the focus) for details of an example, a landmark, an object or a pair.
function show(title, ...content) {
  const dialog = byId("detail");
  byId("detail-title").textContent = title;
  byId("detail-body").replaceChildren(...content);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

function details() {
  const dialog = byId("detail");
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-open]");
    if (button) return open(button.dataset.open);
    if (event.target === dialog || event.target.closest("[data-close]")) return dialog.close();
    const row = event.target.closest("tr[data-row]");
    if (row && !getSelection().toString()) row.querySelector("[data-open]").click();
  });
}

function open(id) {
  const content = byId(id).content.cloneNode(true);
  fill(content);
  show(byId(id).dataset.title, content);
}

// The data of the map: coordinates have three digits each, and the positions are left out if all objects are there.
function mapData() {
  const data = read("map-data");
  const numbers = (digits) => digits.match(/.{3}/g).map(Number);
  const indices = data.indices ?? data.labels.map((_, i) => i);
  return { ...data, x: numbers(data.x), y: numbers(data.y), indices };
}

// The objects of the map and the matrix, by their positions in the data.
function objects() {
  const { indices, drawings, labels, predicted, classes } = mapData();
  const at = new Map(indices.map((index, i) => [index, i]));
  const name = (label) => (classes.length ? classes[label] : label);
  const facts = (index) => {
    const i = at.get(index);
    if (i === undefined) return `Example ${index}`;
    const held = predicted[i] === undefined ? "" : predicted[i] === labels[i] ? ", predicted correctly" : `, predicted ${name(predicted[i])}`;
    return `Example ${index}: ${name(labels[i])}${held}`;
  };
  const picture = (index) => {
    const number = drawings[index];
    return number !== undefined ? drawingOf(number) : make("p", { class: "under" }, "Not drawn, to keep this file small.");
  };
  const card = (index) => make("div", { class: "card" }, make("p", { class: "head" }, make("strong", {}, facts(index))), picture(index));
  const openOne = (index) => (byId(`example-${index}`) ? open(`example-${index}`) : show(facts(index), picture(index)));
  return { card, openOne };
}

// The map: one path for each color, whose points are lines of no length with round ends.
function plane(things) {
  const { x, y, indices, colorings, shades } = mapData();
  const size = 1000, edge = 30, radius = Math.max(4, Math.min(16, 420 / Math.sqrt(indices.length)));
  const svg = drawn("svg", { viewBox: `${-edge} ${-edge} ${size + 2 * edge} ${size + 2 * edge}` });
  const place = byId("map-chart"), choice = byId("map-color"), near = byId("map-object");
  const ring = drawn("circle", { r: 1.2 * radius, class: "ring", visibility: "hidden" });
  const color = ({ levels, names, ordered }) => {
    const shade = (level) => (ordered ? shades[Math.min(level, shades.length - 1)] : `var(--c${level})`);
    const kinds = [["-", "unknown or fitted to", "var(--quiet)"], ...names.map((name, level) => [String(level), name, shade(level)])];
    svg.replaceChildren();
    byId("map-legend").replaceChildren();
    for (const [level, name, ink] of kinds) {
      const points = indices.flatMap((_, i) => (levels[i] === level ? [`M${x[i]} ${y[i]}h0`] : []));
      if (!points.length) continue;
      const opacity = level === "-" ? 0.35 : 0.8;
      svg.append(drawn("path", { d: points.join(""), "stroke-width": radius, "stroke-linecap": "round", fill: "none", style: `stroke:${ink}`, opacity }));
      byId("map-legend").append(make("li", {}, make("span", { class: "swatch", style: `background:${ink}` }), `${name} (${points.length})`));
    }
    svg.append(ring);
  };
  const nearest = (event) => {
    const box = svg.getBoundingClientRect(), scale = (size + 2 * edge) / box.width;
    const px = (event.clientX - box.left) * scale - edge, py = (event.clientY - box.top) * scale - edge;
    let best = -1, least = (3 * radius) ** 2;
    for (let i = 0; i < x.length; i += 1) {
      const far = (x[i] - px) ** 2 + (y[i] - py) ** 2;
      if (far < least) [best, least] = [i, far];
    }
    return best;
  };
  let shown = -1;
  svg.addEventListener("pointermove", (event) => {
    const i = nearest(event);
    ring.setAttribute("visibility", i < 0 ? "hidden" : "visible");
    if (i < 0 || i === shown) return;
    shown = i;
    ring.setAttribute("cx", x[i]);
    ring.setAttribute("cy", y[i]);
    near.replaceChildren(things.card(indices[i]));
  });
  svg.addEventListener("click", (event) => {
    const i = nearest(event);
    if (i >= 0) things.openOne(indices[i]);
  });
  choice.addEventListener("input", () => color(colorings[choice.value]));
  color(colorings[choice.value]);
  place.replaceChildren(svg);
}

// The slider: what the model does if it must be surer, or less sure, of its prediction.
function threshold() {
  if (!byId("threshold")) return;
  const { classes, probabilities, happened } = read("threshold-data");
  const slider = byId("threshold-at"), n = probabilities.length;
  const count = (test) => probabilities.reduce((sum, p, i) => sum + test(p, happened[i] === "1"), 0);
  const lines = (at) => {
    if (classes.length > 2) {
      const answered = count((p) => p >= at), right = count((p, yes) => p >= at && yes);
      return [["Answered", `${percent(answered / n)} of ${n} examples`], ["Right of these", percent(right / answered)]];
    }
    const hits = count((p, yes) => p >= at && yes), alarms = count((p, yes) => p >= at && !yes);
    const missed = count((p, yes) => p < at && yes), passed = n - hits - alarms - missed;
    return [
      ["Accuracy", percent((hits + passed) / n)],
      [`Recall of ${classes[1]}`, `${percent(hits / (hits + missed))}: ${hits} of ${hits + missed}, ${missed} missed`],
      [`Recall of ${classes[0]}`, `${percent(passed / (passed + alarms))}: ${passed} of ${passed + alarms}, ${alarms} false alarms`],
      [`Precision of ${classes[1]}`, `${percent(hits / (hits + alarms))}: ${hits} of ${hits + alarms} predictions`],
      ["F1", hits ? ((2 * hits) / (2 * hits + alarms + missed)).toFixed(2) : "–"],
    ];
  };
  const update = () => {
    byId("threshold-value").textContent = `${slider.value} %`;
    const facts = lines(Number(slider.value) / 100);
    byId("threshold-facts").replaceChildren(...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  };
  slider.addEventListener("input", update);
  byId("threshold").hidden = false;
  update();
}

// The table of examples: sort by a column; filter by mistakes, class and text; the first rows until all are wanted.
function table() {
  const body = byId("example-rows"), more = byId("all-rows");
  const rows = all("tr", body);
  const wrong = byId("only-wrong"), label = byId("of-class"), text = byId("with-text");
  let limit = Number(body.dataset.first);
  const filter = () => {
    const words = text.value.trim().toLowerCase();
    let fit = 0;
    for (const row of all("tr", body)) {
      const keep = (!wrong || !wrong.checked || row.dataset.wrong === "1")
        && (!label || !label.value || row.dataset.label === label.value)
        && (!words || row.dataset.text.toLowerCase().includes(words));
      fit += keep;
      row.hidden = !keep || fit > limit;
    }
    byId("shown").textContent = `${Math.min(fit, limit)} of ${rows.length} examples shown`;
    more.hidden = fit <= limit;
    more.textContent = `Show all ${fit}`;
  };
  const sort = (button) => {
    const head = button.closest("th"), up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of all("th[aria-sort]", head.parentNode)) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => row.querySelector(`[data-key="${button.dataset.sort}"]`).dataset.value;
    const number = rows.every((row) => key(row) !== "" && !Number.isNaN(Number(key(row))));
    const compare = (a, b) => (number ? Number(key(a)) - Number(key(b)) : key(a).localeCompare(key(b)));
    body.append(...rows.sort((a, b) => (up ? compare(a, b) : compare(b, a))));
    filter();
  };
  for (const control of [wrong, label, text]) if (control) control.addEventListener("input", filter);
  for (const button of all("[data-sort]")) button.addEventListener("click", () => sort(button));
  more.addEventListener("click", () => { limit = rows.length; filter(); });
  filter();
}

// Hovering over the matrix shows the pair, and a click its objects; the value is decoded from the color.
function matrix(things) {
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
  const pairAt = (event) => {
    const box = image.getBoundingClientRect(), n = indices.length;
    const place = (at, from, size) => Math.min(n - 1, Math.max(0, Math.floor(((at - from) / size) * n)));
    return [place(event.clientY, box.top, box.height), place(event.clientX, box.left, box.width)];
  };
  const words = ([i, j]) => {
    const color = [...points.getImageData(j, i, 1, 1).data].slice(0, 3);
    const at = level.get(color.map((part) => part.toString(16).padStart(2, "0")).join(""));
    const about = i === j ? ", the example itself" : `, about ${(low + ((high - low) * at) / 255).toPrecision(3)}`;
    const value = at === undefined ? "" : about;
    return `Similarity of example ${indices[i]} (${labels[i]}) to example ${indices[j]} (${labels[j]})${value}`;
  };
  if (image.complete) start();
  else image.addEventListener("load", start);
  image.addEventListener("pointermove", (event) => { pair.textContent = words(pairAt(event)); });
  image.addEventListener("click", (event) => {
    const [i, j] = pairAt(event);
    pair.textContent = words([i, j]);
    byId("pair-objects").replaceChildren(things.card(indices[i]), things.card(indices[j]));
  });
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
const things = objects();
themes();
contents();
details();
table();
plane(things);
threshold();
matrix(things);
copying();
saving();
charts();
