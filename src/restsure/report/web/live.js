"use strict";
// The dashboard: which run is looked at, and what the server says of it. Reconnects by itself, and says when it is not connected.

palette = JSON.parse(at("palette").textContent);
const parts = new Map();
const wait_ms = 1500;
let run = new URLSearchParams(location.search).get("run");
let stream = null, timer = null, pending = false, lost = false, rendered_ms = -1e9;

function say(text, bad = false) {
  if (at("link").textContent !== text) at("link").textContent = text;
  at("link").classList.toggle("lost", bad);
}

function trouble(text) {
  at("trouble").hidden = !text;
  if (at("trouble").textContent !== text) at("trouble").textContent = text;
}

function assemble() {
  const made = { curves: {}, bands: {}, ribbon: {}, outlook: { spent: [], of: {} }, log: [] }, lines = [];
  for (const [key, value] of parts) {
    const [first, second, third] = key.split("/");
    if (first === "log") lines[Number(second)] = value;
    else if (first === "outlook") third === undefined ? (made.outlook.spent = value) : (made.outlook.of[third] = value);
    else if (second !== undefined) made[first][second] = value;
    else made[first] = value;
  }
  made.log = lines.flat();
  return made;
}

function render() {
  pending = false;
  rendered_ms = performance.now();
  const told = parts.get("trouble") ?? "";
  trouble(told || parts.get("head")?.no_beliefs || "");
  if (!parts.has("head")) {
    if (told) Object.assign(at("state"), { textContent: "cannot be read" }).dataset.state = "damaged";
    return void (at("sentence").textContent = told ? "This run cannot be shown." : "Reading the run.");
  }
  const next = assemble();
  show(next);
  const { spent, believed } = next.head;
  const behind = believed === null || believed < 0.98 * spent;
  say(behind && !next.head.no_beliefs ? `live; predictions are at ${Math.round((100 * (believed ?? 0)) / (spent || 1))} % of what was recorded` : "live");
}

function receive(event) {
  const news = JSON.parse(event.data);
  if (news.whole) parts.clear();
  for (const [key, value] of Object.entries(news.parts)) parts.set(key, value);
  if (!pending) { // a page that is not looked at draws nothing, and catches up at once when it is; a slow one rests
    pending = true;
    const soon = () => setTimeout(render, Math.max(0, rendered_ms + 3 * took_ms - performance.now()));
    document.hidden ? document.addEventListener("visibilitychange", soon, { once: true }) : soon();
  }
}

async function again() {
  try {
    const answer = await fetch(`/runs/${encodeURIComponent(run)}/events`, { method: "HEAD", cache: "no-store" });
    if (answer.status === 401) return say("The server has another token now: open the address that it has printed.", true);
    if (answer.status === 404) trouble(`There is no run ${run} any more.`);
    if (answer.ok) return connect();
  } catch { /* it is still not there */ }
  timer = setTimeout(again, wait_ms);
}

function connect() {
  stream?.close();
  clearTimeout(timer);
  if (!run) return;
  const mine = (stream = new EventSource(`/runs/${encodeURIComponent(run)}/events`));
  mine.onmessage = (event) => mine === stream && receive(event);
  mine.onopen = () => { if (mine === stream) { say(lost ? "live again" : "live"); lost = false; } };
  mine.onerror = () => {
    if (mine !== stream) return;
    mine.close();
    lost = true;
    say("Connection lost; trying again…", true);
    timer = setTimeout(again, wait_ms);
  };
}

function look_at(name, push = true) {
  if (name === run && stream) return;
  run = name;
  asked = null;
  parts.clear();
  slots.clear();
  pinned.clear();
  if (push) history.pushState(null, "", `/?run=${encodeURIComponent(name)}`);
  at("sentence").textContent = "Reading the run.";
  Object.assign(at("save"), { hidden: false, href: `/runs/${encodeURIComponent(name)}/report` });
  mark();
  connect();
}

function mark() {
  for (const link of at("runs").querySelectorAll("a")) link.dataset.run === run ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
}

async function list() {
  try {
    if (!document.hidden) {
      const answer = await fetch("/runs", { cache: "no-store" });
      if (answer.ok) show_runs(await answer.json());
    }
  } catch { /* the stream says that the connection is lost */ }
  setTimeout(list, 3000);
}

function show_runs({ runs, hidden }) {
  const focused = document.activeElement?.dataset?.run;
  at("runs").replaceChildren(...runs.map(({ name, state, candidates }) =>
    element("li", {}, element("a", { href: `/?run=${encodeURIComponent(name)}`, "data-run": name, "data-state": state }, named(name), element("small", {}, candidates ? `${state}, ${candidates} candidates` : state)))),
    ...(hidden ? [element("li", { class: "quiet" }, `${hidden} more are not listed`)] : []));
  at("runs").hidden = runs.length === 1 && runs[0].name === run;
  at("runs").querySelector(`[data-run="${CSS.escape(focused ?? "")}"]`)?.focus();
  if (!run && runs.length) look_at(runs[0].name, false);
  if (!runs.length) at("sentence").textContent = "There is no run here yet.";
  mark();
}

at("runs").addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  look_at(link.dataset.run);
});
window.addEventListener("popstate", () => {
  const name = new URLSearchParams(location.search).get("run");
  if (name) look_at(name, false);
});
at("plotly").addEventListener("load", () => story && show(story)); // words and tables do not wait for it
if (run) {
  const name = run;
  run = null;
  look_at(name, false);
}
list();
