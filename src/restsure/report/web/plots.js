"use strict";
// The four plots, drawn from a story. Colours stay with candidates; of many, the best eight are coloured, the others grey.

const DASHES = ["solid", "dash", "dot", "dashdot"];
const COLOURED = 8;
const slots = new Map(); // candidate -> number of its colour
const pinned = new Set(); // candidates that somebody wants to see
let palette = { light: [], dark: [] };
const PAPER = 690; // pixels across a page of paper, A4 or letter
const printing = () => window.matchMedia("print").matches;
const dark = () => !printing() && window.matchMedia("(prefers-color-scheme: dark)").matches;

function rank(story) {
  const value = (row) => (row.state === "failed" || !row.steps ? Infinity : row.predicted ? row.predicted[0] : row.last_loss ?? Infinity);
  return [...story.shown].sort((a, b) =>
    (b === story.head.leader) - (a === story.head.leader) || pinned.has(b) - pinned.has(a)
    || value(story.candidates[a]) - value(story.candidates[b]) || a - b);
}

function colour_slots(story) {
  const few = story.candidates.length <= COLOURED;
  const wanted = few ? story.shown : rank(story).slice(0, Math.max(COLOURED, pinned.size + 1));
  for (const arm of [...slots.keys()]) if (!wanted.includes(arm)) slots.delete(arm);
  for (const arm of wanted) {
    if (few) slots.set(arm, arm);
    if (slots.has(arm)) continue;
    let free = 0;
    while ([...slots.values()].includes(free)) free += 1;
    slots.set(arm, free);
  }
}

function pen(arm) {
  const colours = dark() ? palette.dark : palette.light;
  const slot = slots.get(arm);
  return slot === undefined
    ? { colour: style("--faint"), dash: "solid", coloured: false }
    : { colour: colours[slot % colours.length], dash: DASHES[Math.floor(slot / colours.length) % DASHES.length], coloured: true };
}

const faded = (hex, share) => hex + Math.round(255 * share).toString(16).padStart(2, "0");

function layout(story, more) {
  const narrow = printing() || document.documentElement.clientWidth < 640;
  const axis = (extra) => ({
    gridcolor: style("--grid"), linecolor: style("--line"), zerolinecolor: style("--grid"), automargin: true,
    title: { text: extra.text, standoff: 8 }, fixedrange: narrow, ...extra.rest,
  });
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: style("--ink") },
    margin: { l: 52, r: 12, t: 10, b: 44 }, height: more.height ?? 330, ...(printing() ? { width: PAPER } : {}), hovermode: more.hovermode ?? "closest",
    hoverlabel: { bgcolor: style("--sheet"), bordercolor: style("--line"), font: { color: style("--ink") }, namelength: 40 },
    showlegend: more.legend ?? false,
    legend: narrow ? { orientation: "h", y: -0.24, yanchor: "top", font: { size: 11 } } : { font: { size: 11 }, y: 0.92, yanchor: "top", tracegroupgap: 0 }, // below the buttons
    xaxis: axis(more.x), yaxis: axis(more.y), uirevision: `${story.head.title} ${story.head.started_s}`,
    modebar: { bgcolor: "rgba(0,0,0,0)", color: style("--faint"), activecolor: style("--ink") },
    barmode: "overlay", bargap: 0.3, shapes: more.shapes ?? [], dragmode: narrow ? false : "zoom",
  };
}

// the width of a plot is that of its place, whatever changes it: the window, or a plot beside it that comes or goes
const places = new ResizeObserver((changes) => {
  for (const { target } of changes)
    if (!printing() && target.clientWidth && Math.abs(target._fullLayout?.width - target.clientWidth) >= 2) Plotly.Plots.resize(target);
});
const OPTIONS = { displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
const draw = (id, traces, look) => Plotly.react(at(id), traces, look, OPTIONS).then((plot) => places.observe(plot));

// grey ones first, the leader last and on top
const order = (story) => [...rank(story)].reverse().sort((a, b) => slots.has(a) - slots.has(b));

function band(x, low, high, colour, group, share = 0.16) {
  const edge = { mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: group };
  const known = x.map((_, k) => k).filter((k) => low[k] !== null && high[k] !== null);
  const pick = (values) => known.map((k) => values[k]);
  return [{ ...edge, x: pick(x), y: pick(low) }, { ...edge, x: pick(x), y: pick(high), fill: "tonexty", fillcolor: faded(colour, share) }];
}

function range_of(values, share = 0.12) {
  const known = values.filter((value) => value !== null && Number.isFinite(value)).sort((a, b) => a - b);
  if (!known.length) return undefined;
  const [low, usual] = [known[Math.floor(0.005 * known.length)], known[Math.ceil(0.985 * (known.length - 1))]];
  const high = known.at(-1) - low < 2 * (usual - low) ? known.at(-1) : usual; // a few wild losses do not flatten the rest
  const room = share * (high - low || Math.abs(high) || 1);
  return [low - room, high + room];
}

function draw_curves(story) {
  const traces = [], seen = [], few = story.shown.length <= COLOURED;
  const banded = new Set(rank(story).slice(0, few ? COLOURED : 3));
  let furthest = 2, bands = false;
  for (const arm of order(story)) {
    const curve = story.curves[arm], row = story.candidates[arm], { colour, dash, coloured } = pen(arm), ahead = story.bands[arm];
    if (!curve || !curve.steps.length) continue;
    const leads = arm === story.head.leader, group = `c${arm}`;
    furthest = Math.max(furthest, row.steps);
    if (coloured) seen.push(...curve.smooth, ...curve.losses);
    if (ahead && coloured && ahead.steps.length > 1 && (row.state === "active" || row.state === "chosen")) {
      if (banded.has(arm)) traces.push(...band(ahead.steps, ahead.low, ahead.high, colour, group));
      bands = true;
      traces.push({ x: ahead.steps, y: ahead.mean, mode: "lines", line: { color: colour, width: 1.2, dash: "dash" }, name: label(row.name, 40), legendgroup: group, showlegend: false, hovertemplate: "predicted %{y:.4g} after %{x:,} steps" });
      seen.push(...ahead.mean);
      furthest = Math.max(furthest, ahead.steps.at(-1));
    }
    if (coloured) traces.push({ x: curve.steps, y: curve.losses, mode: "markers", marker: { size: 3, color: colour, opacity: 0.4 }, hoverinfo: "skip", showlegend: false, legendgroup: group });
    traces.push({
      x: curve.steps, y: curve.smooth, mode: "lines", name: label(row.name, coloured ? 26 : 40), legendgroup: group, showlegend: coloured, legendrank: 1000 - (leads ? 900 : 0) + arm,
      line: { color: colour, width: leads ? 3.2 : coloured ? 1.8 : 1, dash, shape: "linear" }, opacity: coloured ? 1 : 0.7,
      hovertemplate: "loss %{y:.4g} after %{x:,} steps",
    });
  }
  at("key-bands").hidden = !bands;
  at("key-grey").hidden = story.candidates.length <= COLOURED;
  draw("plot-curves", traces, layout(story, {
    height: 400, legend: true, x: { text: "training steps of the candidate", rest: { type: "log", range: [-0.02, Math.log10(furthest) + 0.08] } }, y: { text: "loss", rest: { range: range_of(seen) } },
  }));
}

function draw_outlook(story) {
  const { spent, of } = story.outlook, traces = [], seen = [], head = story.head;
  const banded = new Set(rank(story).slice(0, story.shown.length > 4 ? 3 : 4)), out = new Map(); // more would hide one another
  for (const line of story.log) if (line.kind === "failed" || line.kind === "given up") out.set(line.arm, line.spent);
  for (const arm of order(story)) {
    const line = of[arm], { colour, dash, coloured } = pen(arm), name = label(story.candidates[arm].name, 40);
    if (!line || line.mean.every((value) => value === null)) continue;
    const until = spent.findIndex((value) => value > (out.get(arm) ?? Infinity)), cut = (values) => (until < 0 ? values : values.slice(0, until));
    if (coloured && banded.has(arm)) traces.push(...band(cut(spent), line.low, line.high, colour, `o${arm}`));
    traces.push({ x: cut(spent), y: cut(line.mean), mode: "lines", name, line: { color: colour, dash, width: arm === head.leader ? 3.2 : coloured ? 1.6 : 0.9 }, opacity: coloured ? 1 : 0.5, hovertemplate: `predicted %{y:.4g} at %{x:,.4~g} ${head.unit}` });
    if (coloured) seen.push(...cut(line.mean));
  }
  draw("plot-outlook", traces, layout(story, {
    x: { text: `${head.unit} spent`, rest: { range: [0, Math.max(head.budget, head.spent)] } }, y: { text: "predicted final loss", rest: { range: range_of(seen, 0.2) } },
  }));
}

function draw_ribbon(story) {
  const rows = story.shown, head = story.head, width = document.documentElement.clientWidth < 640 ? 13 : 26;
  const traces = rows.filter((arm) => story.ribbon[arm]?.length).map((arm) => ({
    type: "bar", orientation: "h", base: story.ribbon[arm].map((span) => span[0]), x: story.ribbon[arm].map((span) => span[1] - span[0]),
    y: story.ribbon[arm].map(() => rows.indexOf(arm)), marker: { color: pen(arm).colour, line: { width: 0 } }, name: label(story.candidates[arm].name, 40),
    hovertemplate: `from %{base:,.4~g} ${head.unit} on`,
  }));
  const marks = { x: [], y: [], text: [], symbol: [] };
  for (const line of story.log) {
    const row = rows.indexOf(line.arm);
    if (row < 0 || !["given up", "failed", "chosen"].includes(line.kind)) continue;
    marks.x.push(line.spent);
    marks.y.push(row);
    marks.text.push(line.kind);
    marks.symbol.push(line.kind === "chosen" ? "star" : "x-thin");
  }
  traces.push({ x: marks.x, y: marks.y, text: marks.text, mode: "markers", cliponaxis: false, name: "", marker: { symbol: marks.symbol, size: 11, color: style("--ink"), line: { width: 2, color: style("--ink") } }, hovertemplate: `%{text} after %{x:,.4~g} ${head.unit}<extra></extra>` });
  draw("plot-ribbon", traces, layout(story, {
    height: 80 + Math.max(3, rows.length) * (rows.length > 12 ? 18 : 26),
    x: { text: `${head.unit} spent in total`, rest: { range: [0, Math.max(head.budget, head.spent)] } },
    y: { text: "", rest: { tickmode: "array", tickvals: rows.map((_, k) => k), ticktext: rows.map((arm) => label(story.candidates[arm].name, width)), range: [rows.length - 0.4, -0.6], showgrid: false, zeroline: false, tickfont: { size: rows.length > 12 ? 10 : 12 } } },
  }));
}

function draw_what_if(story, chosen, [least, most]) {
  const { before, ahead } = story.what_if, traces = [], ink = style("--accent"), head = story.head;
  traces.push(...band(ahead.budget, ahead.low, ahead.high, ink, "w"));
  const hover = `loss %{y:.4g} with %{x:,.4~g} ${head.unit}<extra></extra>`;
  traces.push({ x: before.budget, y: before.loss, mode: "lines", line: { color: style("--quiet"), width: 2 }, hovertemplate: hover });
  traces.push({ x: ahead.budget, y: ahead.loss, mode: "lines", line: { color: ink, width: 2.4, dash: "dash" }, hovertemplate: hover });
  if (chosen) traces.push({ x: [chosen.budget], y: [chosen.loss], mode: "markers", marker: { size: 11, color: ink, line: { width: 2, color: style("--paper") } }, hoverinfo: "skip" });
  const upright = (x, dash) => ({ type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line: { color: style("--quiet"), width: 1, dash } });
  const shapes = [upright(head.budget, "dot"), ...(chosen ? [upright(chosen.budget, "solid")] : [])];
  draw("plot-what-if", traces, layout(story, {
    height: 270, shapes, x: { text: `budget in ${head.unit} (dotted: this run's)`, rest: { type: "log", range: [Math.log10(least), Math.log10(most)] } },
    y: { text: "loss of the best candidate", rest: { range: range_of([...before.loss.filter((_, k) => before.budget[k] >= least), ...ahead.loss, ...ahead.low], 0.15) } },
  }));
}
