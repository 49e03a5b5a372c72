"use strict";
// Numbers and names as people read them, and elements made of text only: nothing here ever parses HTML.

const number = (value, digits = 4) =>
  value === null || value === undefined ? "unknown"
    : Number.isInteger(value) ? value.toLocaleString("en")
    : Math.abs(value) >= 10 ** digits ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(digits)));

const interval = (low, high) =>
  low === null && high === null ? "no interval" : `${low === null ? "unknown" : number(low)} to ${high === null ? "unknown" : number(high)}`;

const amount = (value, unit) => (unit === "seconds" ? duration(value) : `${number(Math.round(value))} ${unit}`);

function duration(seconds) {
  if (!(seconds >= 0) || !Number.isFinite(seconds)) return "unknown";
  if (seconds < 10) return `${number(seconds, 2)} s`;
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${number(seconds / 3600, 2)} h`;
  return `${number(seconds / 86400, 2)} days`;
}

const short = (name, most) => {
  const letters = [...name.replace(/\s+/g, " ")];
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : letters.join("");
};

// for plotly, which reads a few tags: shortened, with its direction kept to itself, as text
const label = (name, most = 26) =>
  `\u2068${short(name, most)}\u2069`.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

const named = (name) => element("bdi", name.length > 80 ? { title: short(name, 400) } : {}, name);
const at = (id) => document.getElementById(id);
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
