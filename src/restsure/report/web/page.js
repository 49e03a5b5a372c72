"use strict";
// A story as a page: outcome first, then plots, tables and the log. The report shows one; the dashboard shows it again and again.

let story = null;
let asked = null; // the budget that the slider stands at; null while it follows the run's
let sorted = { by: null, down: false };
let drawing = null, took_ms = 0;

const KINDS = ["begun", "leads", "chosen", "given up", "failed", "misfit", "note", "stopped", "resumed", "over"];
const COLUMNS = [
  ["candidate", (row) => row.name.toLowerCase()], ["state", (row) => row.state], ["steps", (row) => row.steps],
  ["last losses", (row) => row.last_loss ?? Infinity], ["predicted at the end", (row) => row.predicted?.[0] ?? Infinity],
  ["spent on it", (row) => row.cost], ["why", null],
];

function show_outcome() {
  const { head, candidates } = story, leader = candidates[head.leader];
  document.title = `${head.title || "run"} · ${head.state} · restsure`;
  at("title").textContent = head.title || "Selection";
  const readable = !story.trouble;
  Object.assign(at("state"), { textContent: readable ? head.state : "cannot be read" }).dataset.state = readable ? head.state : "damaged";
  const rest = leader && head.sentence.startsWith(leader.name) ? head.sentence.slice(leader.name.length) : null;
  const sofar = head.state === "over" || rest === null ? "" : "As things stand, ";
  const shown = sofar + head.sentence;
  if (at("sentence").textContent !== shown)
    at("sentence").replaceChildren(...(rest === null ? [shown] : [sofar, element("b", {}, named(short(leader.name, 120))), rest]));
  at("certificate").textContent = head.certificate?.text ?? "";
  at("explanation").textContent = story.explanation ?? "";
  at("tiles").replaceChildren(...tiles().map(([what, value, more]) =>
    element("div", {}, element("dt", {}, what), element("dd", {}, value, more ? element("small", {}, more) : null))));
  at("gauge").hidden = head.state === "over" || !head.budget;
  at("spent").value = Math.min(1, head.spent / head.budget);
  at("left").textContent = left();
}

function tiles() {
  const { head, candidates } = story, leader = candidates[head.leader], found = [];
  if (leader) found.push([head.state === "over" ? "winner" : "best so far", named(leader.name), `${number(leader.steps)} training steps`]);
  if (head.loss) found.push(["its loss", number(head.loss[0]), interval(head.loss[1], head.loss[2])]);
  if (head.certificate && head.certificate.bound !== null)
    found.push([head.certificate.certified ? "regret at most" : "estimated regret at most", number(head.certificate.bound), `at ${Math.round(100 * head.certificate.confidence)} % confidence`]);
  const used = head.unit === "seconds" ? [duration(head.spent), `of ${duration(head.budget)} of training`] : [number(Math.round(head.spent)), `of ${number(head.budget)} ${head.unit}`];
  found.push(["spent", ...used]);
  const count = (state) => candidates.filter((row) => row.state === state).length;
  const gone = [[count("given up"), "given up"], [count("failed"), "failed"]].filter(([many]) => many).map(([many, what]) => `${many} ${what}`);
  found.push(["candidates", number(candidates.length), gone.join(", ") || "none given up, none failed"]);
  found.push(["time of training", duration(head.seconds), `${duration(head.last_s - head.started_s)} from first to last record`]);
  return found;
}

function left() {
  const { head } = story, rest = Math.max(0, head.budget - head.spent);
  const rate = (head.spent - head.opened_at) / (head.last_s - head.opened_s);
  const time = head.state === "running" && rate > 0 ? `, about ${duration(rest / rate)} to go` : "";
  return `${amount(rest, head.unit)} left${time}`;
}

function show_candidates() {
  const { candidates, head } = story;
  const key = sorted.by === null ? null : COLUMNS[sorted.by][1];
  const rows = candidates.map((row, arm) => ({ row, arm }));
  if (key) rows.sort((a, b) => { const [x, y] = [key(a.row), key(b.row)]; return (x < y ? -1 : x > y ? 1 : a.arm - b.arm) * (sorted.down ? -1 : 1); });
  at("table").classList.toggle("silent", candidates.every((row) => row.predicted === null));
  at("table").classList.toggle("plain", candidates.every((row) => row.cost === row.steps));
  at("table").tHead.replaceChildren(element("tr", {}, ...COLUMNS.map(([what, by], column) => {
    const sort = { 4: "predicted", 5: "cost", 6: "why" }[column] ?? "";
    const right = column >= 2 && column <= 5;
    const title = column === 5 ? `${head.unit} spent on it` : what;
    const inner = by ? element("button", { type: "button", "data-sort": column }, title) : title;
    return element("th", { scope: "col", class: `${right ? "number" : ""} ${sort}`, "aria-sort": sorted.by === column ? (sorted.down ? "descending" : "ascending") : null }, inner);
  })));
  at("table").tBodies[0].replaceChildren(...rows.map(({ row, arm }) => candidate_row(row, arm)));
}

function candidate_row(row, arm) {
  const drawn = story.shown.includes(arm);
  const swatch = drawn ? element("button", { type: "button", class: "swatch", "data-pin": arm, "aria-pressed": String(pinned.has(arm)), "aria-label": `Highlight ${short(row.name, 60)} in the plots` }) : null;
  if (swatch && slots.has(arm)) swatch.style.background = swatch.style.borderColor = pen(arm).colour;
  const end = row.predicted ? `${number(row.predicted[0])} (${interval(row.predicted[1], row.predicted[2])})` : "";
  return element("tr", { class: arm === story.head.leader ? "winner" : null },
    element("th", { scope: "row" }, element("span", { class: "name" }, swatch, named(row.name))),
    element("td", {}, element("span", { class: "state", "data-state": row.state }, row.state)),
    element("td", { class: "number" }, number(row.steps)),
    element("td", { class: "number" }, row.last_loss === null ? "" : number(row.last_loss)),
    element("td", { class: "number predicted" }, end),
    element("td", { class: "number cost" }, number(row.cost)),
    element("td", { class: "why" }, [row.why, row.misfit].filter(Boolean).join("; ")));
}

function show_log() {
  const kind = at("kind").value, about = at("about").value, words = at("words").value.trim().toLowerCase();
  const name = (arm) => (arm === null ? "" : story.candidates[arm].name);
  const lines = story.log.filter((line) => (!kind || line.kind === kind) && (!about || String(line.arm) === about || String(line.rival) === about)
    && (!words || `${line.kind} ${name(line.arm)} ${name(line.rival)} ${line.text}`.toLowerCase().includes(words)));
  if (document.documentElement.dataset.page === "dashboard") lines.reverse(); // the newest first
  at("log").tBodies[0].replaceChildren(...lines.map((line) => element("tr", {},
    element("td", {}, amount(line.spent, story.head.unit)),
    element("td", {}, element("span", { class: "state", "data-state": line.kind }, line.kind)),
    element("td", {}, line.arm === null ? "" : named(name(line.arm)), ...(line.rival === null ? [] : [" against ", named(name(line.rival))])),
    element("td", { class: "why" }, line.text))));
  at("found").textContent = lines.length === story.log.length ? "" : `${lines.length} of ${story.log.length}`;
}

function fill_filter() {
  const keep = (select, options) => {
    const value = select.value;
    if (select.options.length !== options.length + 1) select.replaceChildren(select.options[0], ...options.map(([key, text]) => element("option", { value: key }, text)));
    select.value = value;
  };
  keep(at("kind"), KINDS.map((kind) => [kind, kind]));
  keep(at("about"), story.candidates.map((row, arm) => [arm, short(row.name, 40)]));
  at("filter").hidden = false;
}

function show_rest() {
  at("notes").replaceChildren(...failures().map((text) => element("li", { dir: "auto" }, text)));
  at("notes-section").hidden = !failures().length;
  at("configuration").tBodies[0].replaceChildren(...story.configuration.map(([what, value]) => element("tr", {}, element("th", { scope: "row" }, what), element("td", { dir: "auto" }, value))));
}

const failures = () => [...story.candidates.filter((row) => row.state === "failed").map((row) => `${row.name}: failed: ${row.why}`), ...story.notes];

function budgets() {
  const { before, ahead } = story.what_if;
  const first = before.budget.find((value) => value >= story.head.budget / 200) ?? before.budget[0];
  return [first, Math.max(ahead.budget.at(-1) ?? 0, story.head.spent)];
}

function what_if(budget) {
  const { before, ahead } = story.what_if, log = Math.log;
  const [table, past] = budget < (ahead.budget[0] ?? Infinity) ? [before, true] : [ahead, false];
  const above = table.budget.findIndex((value) => value > budget);
  const k = above === -1 ? table.budget.length - 1 : Math.max(0, above - 1), next = Math.min(k + 1, table.budget.length - 1);
  const share = past || k === next ? 0 : (log(budget) - log(table.budget[k])) / (log(table.budget[next]) - log(table.budget[k]));
  const between = (part) => (table[part][k] === null || table[part][next] === null ? null : table[part][k] + share * (table[part][next] - table[part][k]));
  return { budget, past, arm: table.arm[k], loss: between("loss"), low: between("low"), high: between("high") };
}

function show_what_if(draws = true) {
  const [low, high] = budgets();
  at("budget").disabled = !(low > 0) || !(high > low);
  if (at("budget").disabled) return void (at("what-if").textContent = "Nothing has been trained yet.");
  const budget = Math.min(high, Math.max(low, asked ?? Math.min(story.head.budget, high)));
  at("budget").value = Math.round((1000 * Math.log(budget / low)) / Math.log(high / low));
  const found = what_if(budget), name = story.candidates[found.arm].name;
  const spread = found.low === null || found.high === null ? "" : ` (${interval(found.low, found.high)})`;
  const how = found.past ? ["would have ended with ", element("b", {}, named(name)), ` at a loss of about ${number(found.loss)}${spread}.`]
    : ["is predicted to bring a loss of ", element("b", {}, `${number(found.loss)}${spread}`), ", with ", named(name), "."];
  const behind = story.head.no_beliefs || (story.head.believed ?? -1) < 0.98 * story.head.spent;
  const silent = story.what_if.ahead.budget.length ? [] : [behind ? " There are no predictions yet." : " This policy predicts nothing beyond what is spent."];
  at("what-if").replaceChildren(element("b", {}, amount(budget, story.head.unit)), " ", ...how, ...silent);
  at("budget").setAttribute("aria-valuetext", at("what-if").textContent);
  if (draws && window.Plotly) draw_what_if(story, found, [low, high]);
}

function show_plots() {
  document.documentElement.classList.toggle("drawing", Boolean(window.Plotly));
  if (!window.Plotly) return;
  const began = performance.now();
  draw_curves(story);
  const foreseen = Object.values(story.outlook.of).some((line) => line.mean.some((value) => value !== null));
  at("plot-outlook").closest("section").hidden = !foreseen; // before it is drawn: plotly takes its width from what can be seen
  if (foreseen) draw_outlook(story);
  draw_ribbon(story);
  show_what_if();
  took_ms = performance.now() - began;
}

function show(next) {
  story = next;
  colour_slots(story);
  show_outcome();
  show_candidates();
  fill_filter();
  show_log();
  show_rest();
  show_what_if(false);
  clearTimeout(drawing); // words and tables first, then what takes longer
  if (printing()) show_plots();
  else drawing = setTimeout(show_plots);
}

at("budget").addEventListener("input", (event) => {
  const [low, high] = budgets();
  asked = low * (high / low) ** (event.target.value / 1000);
  show_what_if();
});
for (const id of ["kind", "about", "words"]) at(id).addEventListener("input", () => story && show_log());
at("filter").addEventListener("submit", (event) => event.preventDefault());
at("table").addEventListener("click", (event) => {
  const by = event.target.closest("[data-sort]"), pin = event.target.closest("[data-pin]");
  if (by) {
    const column = Number(by.dataset.sort);
    sorted = { by: column, down: sorted.by === column && !sorted.down };
    show_candidates();
    at("table").querySelector(`[data-sort="${column}"]`).focus();
  }
  if (pin) {
    const arm = Number(pin.dataset.pin);
    pinned.has(arm) ? pinned.delete(arm) : pinned.add(arm);
    colour_slots(story);
    show_candidates();
    show_plots();
    at("table").querySelector(`[data-pin="${arm}"]`).focus();
  }
});
for (const query of ["(prefers-color-scheme: dark)", "print", "(max-width: 40rem)"])
  window.matchMedia(query).addEventListener("change", () => story && show(story));
for (const moment of ["beforeprint", "afterprint"]) window.addEventListener(moment, () => story && show(story));
