"use strict";
const at = id => document.getElementById(id);
const state = {layer: 0, head: 0, rule: "as trained", factor: 1, length: data.tokens.length, query: 0};
state.query = Math.min(data.tokens.length - 1, 20);
const lesson = data.curves.length > 0;
// Where the slider of the length stops: shown tokens one by one, then the lengths that were measured.
const stops = data.tokens.map((_, i) => i + 1).concat(lesson
  ? data.curves[0].lengths.filter(l => l > data.tokens.length) : []);
state.stop = data.tokens.length - 1;
at("length").max = stops.length - 1;
at("length").value = state.stop;
const now = () => data.curves.find(c => c.rule === state.rule && c.factor === state.factor);

// Rows of a lower triangle: score, bias, sum and softmax of each key of each query.
function rows(layer, head) {
  const of = data.layers[layer][head], slopes = lesson && now() ? now().slopes : null;
  const all = [];
  for (let i = 0, k = 0; i < state.length; ++i) {
    const given = of.scores.slice(k, k + i + 1), hidden = given.map(s => s === null);  // by a pattern
    k += i + 1;
    const scores = given.map(s => s ?? 0);
    const biases = scores.map((_, j) => hidden[j] ? 0 : slopes ? -slopes[head] * (i - j) : of.bias[i - j]);
    const sums = scores.map((s, j) => s + biases[j]);
    const most = Math.max(...sums.filter((_, j) => !hidden[j]));
    const e = sums.map((s, j) => hidden[j] ? 0 : Math.exp(s - most));
    const total = e.reduce((a, b) => a + b, 0);
    all.push({scores, biases, sums, weights: e.map(x => x / total)});
  }
  return all;
}
// White through blue to dark for shares 0 .. 1; red below 0 in maps with a sign.
function colour(share, sign) {
  const c = Math.min(1, Math.abs(share));
  return sign && share < 0 ? [255 - 45 * c, 255 - 175 * c, 255 - 215 * c] : [255 - 255 * c, 255 - 141 * c, 255 - 77 * c];
}
function paint(canvas, all, kind, linear) {
  const n = all.length, context = canvas.getContext("2d");
  canvas.width = canvas.height = n;
  const image = context.createImageData(n, n);
  let most = 1e-9;
  for (const row of all) for (const x of row[kind]) most = Math.max(most, Math.abs(x));
  for (let i = 0; i < n; ++i) for (let j = 0; j <= i; ++j) {
    const x = all[i][kind][j] / most, [r, g, b] = colour(linear ? x : Math.sqrt(x), linear), p = 4 * (i * n + j);
    image.data.set([r, g, b, 255], p);
  }
  context.putImageData(image, 0, 0);
}
function cells(tag, values) {
  const row = document.createElement("tr");
  for (const value of values) row.appendChild(document.createElement(tag)).textContent = value;
  return row;
}
const visible = token => token.replace(/\n/g, "\u21b5").replace(/ /g, "\u00b7");
function draw() {
  state.query = Math.min(state.query, state.length - 1);
  const all = rows(state.layer, state.head), row = all[state.query];
  for (const [id, kind, linear] of [["scores", "scores", true], ["biases", "biases", true], ["sums", "sums", true],
    ["weights", "weights", false]]) paint(at(id), all, kind, linear);
  [...at("tokens").children].forEach((button, j) => {
    const seen = j <= state.query, share = seen ? row.weights[j] : 0;
    button.style.background = share > 0.002 ? `rgba(0, 114, 178, ${(0.75 * Math.sqrt(share)).toFixed(3)})` : "transparent";
    button.style.opacity = seen ? 1 : 0.4;
    button.setAttribute("aria-pressed", j === state.query);
  });
  at("row-title").textContent = `What token ${state.query + 1} "${visible(data.tokens[state.query])}" attends to`
    + ` (layer ${state.layer + 1}, head ${state.head + 1})`;
  const table = at("row");
  table.replaceChildren(cells("th", ["key", "token", "distance", "q\u00b7k", "bias", "sum", "softmax"]));
  row.weights.map((w, j) => j).sort((a, b) => row.weights[b] - row.weights[a]).slice(0, 12).forEach(j =>
    table.appendChild(cells("td", [j + 1, visible(data.tokens[j]), state.query - j, row.scores[j].toFixed(2),
      row.biases[j].toFixed(2), row.sums[j].toFixed(2), (100 * row.weights[j]).toFixed(1) + " %"])));
  for (const button of at("all").children) {
    const layer = +button.dataset.layer, head = +button.dataset.head;
    paint(button.firstChild, rows(layer, head), "weights", false);
    button.setAttribute("aria-pressed", layer === state.layer && head === state.head);
  }
  at("layer").value = state.layer;
  at("head").value = state.head;
  at("length-text").textContent = ` ${stops[state.stop]} tokens`
    + (stops[state.stop] > state.length ? `, ${state.length} shown` : "");
  if (lesson) drawCurve();
}
function drawCurve() {
  const trained = data.curves.find(x => x.rule === "as trained" && x.factor === 1), chosen = now();
  const values = [...trained.perplexities, ...chosen.perplexities], lengths = trained.lengths;
  const low = Math.min(...values) * 0.97, high = Math.max(...values) * 1.03, last = lengths[lengths.length - 1];
  const x = l => 50 + 430 * (lengths.length > 1 ? Math.log(l / lengths[0]) / Math.log(last / lengths[0]) : 0.5);
  const y = p => 200 - 180 * Math.log(p / low) / Math.log(high / low);
  const line = curve => curve.perplexities.map((p, i) => `${x(lengths[i])},${y(p)}`).join(" ");
  const text = (at, height, words, anchor) => `<text x="${at}" y="${height}" text-anchor="${anchor}">${words}</text>`;
  const place = lengths.indexOf(stops[state.stop]);
  at("curve").innerHTML = lengths.map(l => text(x(l), 220, l, "middle")).join("")
    + [low, Math.sqrt(low * high), high].map(p => text(4, y(p) + 4, p.toPrecision(3), "start")).join("")
    + `<path class="axis" d="M${x(data.trained)} 10V200"/>` + text(x(data.trained) + 5, 20, "trained length", "start")
    + `<polyline class="axis dashed" points="${line(trained)}"/><polyline class="chosen" points="${line(chosen)}"/>`
    + (place < 0 ? "" : `<circle cx="${x(lengths[place])}" cy="${y(chosen.perplexities[place])}" r="6"/>`);
  at("measured-text").textContent = place < 0
    ? `Move the length beyond ${data.tokens.length} tokens to walk along the curve.`
    : `At ${lengths[place]} tokens: perplexity ${chosen.perplexities[place].toFixed(2)} with these slopes, `
      + `${trained.perplexities[place].toFixed(2)} as trained.`;
  const name = state.rule + (state.rule === "none" ? "" : ", times " + state.factor);
  at("curve-table").replaceChildren(cells("th", ["perplexity at", ...lengths]),
    cells("td", ["as trained (dashed)", ...trained.perplexities.map(p => p.toFixed(2))]),
    cells("td", [name, ...chosen.perplexities.map(p => p.toFixed(2))]));
}
function fill(select, names) {
  names.forEach((name, i) => select.add(new Option(name, typeof name === "number" ? i : name)));
}
data.tokens.forEach((token, j) => {
  const button = document.createElement("button");
  button.textContent = visible(token);
  button.onclick = () => { state.query = j; draw(); };
  at("tokens").appendChild(button);
});
data.layers.forEach((heads, layer) => heads.forEach((of, head) => {
  const button = document.createElement("button");
  button.append(document.createElement("canvas"), `${layer + 1}.${head + 1}`);
  Object.assign(button.dataset, {layer, head});
  button.title = of.slope === null ? "" : `slope ${of.slope}, reach `
    + of.reach.map((reach, i) => `${reach} tokens at ${data.lengths[i]}`).join(", ");
  button.onclick = () => { state.layer = layer; state.head = head; draw(); };
  at("all").appendChild(button);
}));
fill(at("layer"), data.layers.map((_, i) => i + 1));
fill(at("head"), data.layers[0].map((_, i) => i + 1));
at("layer").onchange = () => { state.layer = +at("layer").value; draw(); };
at("head").onchange = () => { state.head = +at("head").value; draw(); };
at("length").oninput = () => {
  state.stop = +at("length").value;
  state.length = Math.min(stops[state.stop], data.tokens.length);
  draw();
};
if (lesson) {
  fill(at("rule"), [...new Set(data.curves.map(c => c.rule))]);
  const choose = () => {
    state.rule = at("rule").value;
    state.factor = state.rule === "none" ? 1 : 2 ** at("factor").value;
    at("factor-text").textContent = " " + state.factor;
    draw();
  };
  at("rule").onchange = at("factor").oninput = choose;
}
for (const id of ["scores", "biases", "sums", "weights"]) at(id).onclick = event => {
  const box = at(id).getBoundingClientRect();
  state.query = Math.max(0, Math.min(state.length - 1, Math.floor((event.clientY - box.top) / box.height * state.length)));
  draw();
};
draw();
