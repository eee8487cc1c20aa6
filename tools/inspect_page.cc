#include "tools/inspect_page.h"

#include <cstdlib>
#include <sstream>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Everything but the data. Colours are chosen so that they differ in lightness
// too, and hold in light and dark.
constexpr char kHead[] = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Protean filters</title>
<style>
:root { --page: #fff; --ink: #1b1f24; --soft: #5b6470; --line: #d8dde3; --card: #f5f7f9; --mark: #2563a8; --none: #b4bac2; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171b; --ink: #e6e9ed; --soft: #9aa3ae; --line: #333a42; --card: #1d2126; --mark: #7db3ee; --none: #59616b; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 75rem; background: var(--page); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.35rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .2rem; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 1.4rem 0 .5rem; }
.soft { color: var(--soft); overflow-wrap: anywhere; }
.cards { display: flex; flex-wrap: wrap; gap: .5rem; margin: .8rem 0; }
.card { background: var(--card); border-radius: 6px; padding: .45rem .8rem; min-width: 7rem; flex: 1 1 auto; }
.card b { display: block; font-size: 1.15rem; }
.level { display: flex; align-items: stretch; gap: .5rem; margin: 4px 0; }
.level > span { flex: 0 0 2.2rem; align-self: center; font-weight: 600; }
.files { flex: 1; display: flex; flex-wrap: wrap; gap: 2px; min-width: 0; }
.file { height: 1.9rem; min-width: 9px; border: 0; padding: 0; border-radius: 2px; cursor: pointer; }
.file.off { background: repeating-linear-gradient(45deg, var(--none) 0 4px, var(--page) 4px 7px) !important; outline: 1px solid var(--none); }
.file.bad { outline: 3px solid #d22; outline-offset: -3px; }
.file:focus-visible, .file.chosen { outline: 3px solid var(--ink); outline-offset: -1px; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem .9rem; align-items: center; font-size: .85rem; margin: .5rem 0; }
.legend i { display: inline-block; width: 1rem; height: 1rem; border-radius: 2px; vertical-align: -2px; margin-right: .3rem; }
.detail { background: var(--card); border-radius: 6px; padding: .6rem .8rem; min-height: 3.2rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
td.n, th.n { text-align: right; }
td.wrap { white-space: normal; min-width: 14rem; }
.bar { height: .8rem; background: var(--mark); border-radius: 2px; min-width: 2px; }
select { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 4px; padding: .1rem .3rem; }
svg { max-width: 56rem; }
@media (max-width: 40rem) { th, td { padding-right: .45rem; } table { font-size: .82rem; } .bar { min-width: 1px; } }
svg text { fill: var(--soft); font-size: 11px; }
summary { cursor: pointer; font-weight: 600; }
</style>
</head>
<body>
<h1 id="title"></h1>
<div class="soft" id="time"></div>
<div id="families"></div>
<div id="history"></div>
<noscript>This page draws its data with a script.</noscript>
<script type="application/json" id="data">
)html";

constexpr char kTail[] = R"html(
</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const el = (tag, attributes = {}, ...children) => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) k === "text" ? e.textContent = v : e.setAttribute(k, v);
  e.append(...children);
  return e;
};
const has = x => x !== null && x !== undefined;
const number = x => has(x) ? x.toLocaleString("en-US") : "–";
const size = b => { let i = 0; while (b >= 1024 && i < 4) { b /= 1024; i++; } return b.toFixed(i ? 1 : 0) + " " + ["B", "KB", "MB", "GB", "TB"][i]; };
const percent = x => has(x) ? (x === 0 ? "0 %" : x < 1e-5 ? "< 0.001 %" : (100 * x).toPrecision(3) / 1 + " %") : "–";
// Rates from 0.001 % on, in steps of ten, as colours.
const steps = [[1e-5, "#0b6e4f"], [1e-4, "#2f9e6e"], [1e-3, "#8ccf9a"], [1e-2, "#f2d16b"], [1e-1, "#e8893b"], [Infinity, "#c0392b"]];
const rateColour = r => steps.find(s => r <= s[0])[1];
const bitSteps = [[4, "#dbe9f6"], [8, "#a8cbe8"], [12, "#6ba6d6"], [16, "#3b7fbf"], [24, "#205a96"], [Infinity, "#0f3460"]];
const palette = ["#2563a8", "#c77d1e", "#3f8f5f", "#a4459b", "#777777"];
const observed = f => f.observed_asked > 0 ? f.observed_fpr : null;
const views = {
  observed: { name: "false positives observed", value: observed, colour: rateColour,
    legend: () => steps.map((s, i) => [s[1], i < 5 ? "≤ " + percent(s[0]) : "more"]) },
  predicted: { name: "false positives predicted", value: f => f.predicted_fpr, colour: rateColour,
    legend: () => steps.map((s, i) => [s[1], i < 5 ? "≤ " + percent(s[0]) : "more"]) },
  bits: { name: "bits per key", value: f => f.bits_per_key, colour: b => bitSteps.find(s => b <= s[0])[1],
    legend: () => bitSteps.map((s, i) => [s[1], i < 5 ? "≤ " + s[0] : "more"]) },
  basis: { name: "on what designs rest", value: f => has(f.samples) ? (f.samples > 0 ? 0 : 1) : 2,
    colour: i => palette[i], legend: () => [[palette[0], "sample queries"], [palette[1], "the keys alone"], [palette[2], "the policy"]] },
};
document.getElementById("title").textContent = data.title;
document.title = "Protean: " + data.title;
document.getElementById("time").textContent = "Range filters, " + data.time;

function drawFamily(family) {
  const root = el("section");
  if (family.name) root.append(el("h2", { text: "Column family " + family.name }));
  if (family.filter_policy) root.append(el("div", { class: "soft", text: "filter_policy=" + family.filter_policy }));
  const files = family.files;
  const sum = f => files.reduce((s, x) => s + (x[f] || 0), 0);
  const asked = sum("observed_asked"), paid = sum("observed_paid"), spared = sum("observed_spared");
  const unfiltered = files.filter(f => f.unfiltered).length;
  const predicting = files.filter(f => has(f.predicted_fpr));
  const keysOf = predicting.reduce((s, f) => s + f.keys, 0);
  const cards = [[number(files.length), "files, " + size(sum("bytes"))], [number(sum("keys")), "keys"],
    [size(sum("filter_bytes")), "of filters"], [number(unfiltered), "files whose ranges are not filtered"]];
  if (keysOf > 0) cards.push([percent(predicting.reduce((s, f) => s + f.predicted_fpr * f.keys, 0) / keysOf), "false positives predicted"]);
  if (asked > 0) cards.push([number(spared), "reads spared"], [number(paid), "reads in vain"]);
  root.append(el("div", { class: "cards" }, ...cards.map(c => el("div", { class: "card" }, el("b", { text: c[0] }), c[1]))));

  root.append(el("h3", { text: "The tree" }));
  const choices = Object.keys(views).filter(v => files.some(f => !f.unfiltered && has(views[v].value(f))));
  const select = el("select", { "aria-label": "colour by" }, ...choices.map(v => el("option", { value: v, text: views[v].name })));
  const legend = el("div", { class: "legend" });
  const tree = el("div");
  const detail = el("div", { class: "detail soft", text: "Each box is a file, as wide as it is large; choose one to see what is known of it.", "aria-live": "polite" });
  const levels = [...new Set(files.map(f => f.level))].sort((a, b) => a - b);
  const boxes = [];
  for (const level of levels) {
    const row = el("div", { class: "files" });
    const own = files.filter(f => f.level === level);
    const most = Math.max(...own.map(f => f.bytes));
    for (const f of own) {
      const box = el("button", { class: "file", type: "button", "aria-label": f.file });
      box.style.flex = (own.length > 400 ? "0 0 " : Math.max(f.bytes / most, .02).toFixed(3) + " 1 ") + "9px";
      box.style.maxWidth = "12rem";
      if (f.unfiltered) box.classList.add("off");
      if (/damaged|cannot be read|Corruption/.test(f.unfiltered || "")) box.classList.add("bad");
      const facts = [f.file + ": " + (f.kind || "?") + (f.design ? ", " + f.design : "")];
      if (has(f.keys)) facts.push(number(f.keys) + " keys, " + size(f.bytes));
      if (has(f.bits_per_key)) facts.push(f.bits_per_key.toFixed(2) + " bits per key");
      if (f.basis) facts.push("designed " + f.basis);
      if (has(f.predicted_fpr)) facts.push(percent(f.predicted_fpr) + " false positives predicted");
      if (f.observed_asked > 0) facts.push("asked " + number(f.observed_asked) + " times: " + number(f.observed_spared) + " reads spared, " + number(f.observed_paid) + " in vain");
      if (f.unfiltered) facts.push("ranges are not filtered: " + f.unfiltered);
      box.title = facts.join("\n");
      box.onclick = () => {
        boxes.forEach(b => b[0].classList.toggle("chosen", b[0] === box));
        detail.textContent = facts.join(" · ");
        detail.classList.remove("soft");
      };
      boxes.push([box, f]);
      row.append(box);
    }
    tree.append(el("div", { class: "level" }, el("span", { text: level < 0 || !has(level) ? "–" : "L" + level }), row));
  }
  const paint = () => {
    const view = views[select.value];
    legend.replaceChildren();
    if (view) {
      for (const [box, f] of boxes) {
        const v = view.value(f);
        box.style.background = has(v) ? view.colour(v) : "var(--none)";
      }
      const unknown = boxes.some(([box, f]) => !f.unfiltered && !has(view.value(f)));
      for (const [colour, text] of view.legend().concat(unknown ? [["var(--none)", "not known"]] : [])) {
        const swatch = el("i");
        swatch.style.background = colour;
        legend.append(el("span", {}, swatch, text));
      }
    }
    const swatch = el("i", { class: "file off" });
    swatch.style.minWidth = "1rem";
    legend.append(el("span", {}, swatch, "ranges not filtered"));
  };
  select.onchange = paint;
  if (choices.length) root.append(el("label", {}, "Colour: ", select));
  root.append(legend, tree, detail);
  paint();

  root.append(el("h3", { text: "Memory of filters" }));
  const most = Math.max(1, ...family.levels.map(l => l.filter_bytes));
  const memory = el("table", {}, el("tr", {}, el("th", { text: "level" }), el("th", { class: "n", text: "files" }), el("th", { class: "n", text: "keys" }),
    el("th", { class: "n", text: "bits/key" }), el("th", { class: "n", text: "filters" }), el("th", { text: "" })));
  for (const l of family.levels) {
    const bar = el("div", { class: "bar" });
    bar.style.width = (100 * l.filter_bytes / most).toFixed(1) + "%";
    const cell = el("td", {}, bar);
    cell.style.width = "40%";
    cell.style.minWidth = "3rem";
    memory.append(el("tr", {}, el("td", { text: String(l.level) }), el("td", { class: "n", text: number(l.files) }), el("td", { class: "n", text: number(l.keys) }),
      el("td", { class: "n", text: has(l.bits_per_key) ? l.bits_per_key.toFixed(2) : "–" }), el("td", { class: "n", text: size(l.filter_bytes) }), cell));
  }
  memory.style.width = "100%";
  root.append(el("div", { class: "scroll" }, memory));

  root.append(el("h3", { text: "Designs" }));
  const designs = new Map();
  for (const f of files) {
    if (!f.kind) continue;
    const name = f.kind + (f.design ? ": " + f.design.replace(/ \(.*/, "") : "");
    const d = designs.get(name) || { files: 0, keys: 0, basis: new Set() };
    d.files++; d.keys += f.keys || 0;
    if (has(f.samples)) d.basis.add(f.samples > 0 ? "sample queries" : "the keys alone");
    designs.set(name, d);
  }
  const table = el("table", {}, el("tr", {}, el("th", { text: "design" }), el("th", { class: "n", text: "files" }), el("th", { class: "n", text: "keys" }), el("th", { text: "rests on" })));
  for (const [name, d] of [...designs].sort((a, b) => b[1].keys - a[1].keys).slice(0, 20))
    table.append(el("tr", {}, el("td", { class: "wrap", text: name }), el("td", { class: "n", text: number(d.files) }), el("td", { class: "n", text: number(d.keys) }), el("td", { text: [...d.basis].join(", ") })));
  root.append(el("div", { class: "scroll" }, table));
  if (designs.size > 20) root.append(el("div", { class: "soft", text: "and " + (designs.size - 20) + " more" }));
  return root;
}

function drawHistory(history) {
  const root = el("section");
  if (!history.length) return root;
  root.append(el("h2", { text: "Designs of the past, from the log" }));
  const width = 720, height = 190, left = 62, right = 8, top = 8, bottom = 30;
  const NS = "http://www.w3.org/2000/svg";
  const shape = (tag, attributes, text) => {
    const e = document.createElementNS(NS, tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "predicted false positive rates over time" });
  svg.style.width = "100%";
  const seconds = history.map(h => h.seconds);
  const first = Math.min(...seconds), span = Math.max(1, Math.max(...seconds) - first);
  const y = r => top + (height - top - bottom) * (Math.log10(Math.max(r, 1e-5)) / -5);
  for (let e = 0; e >= -5; e--) {
    const at = y(10 ** e);
    svg.append(shape("line", { x1: left, x2: width - right, y1: at, y2: at, stroke: "var(--line)" }));
    svg.append(shape("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, e === -5 ? "≤ 0.001 %" : percent(10 ** e)));
  }
  history.forEach(h => {
    const dot = shape("circle", { cx: left + (width - left - right) * (h.seconds - first) / span, cy: y(h.predicted_fpr), r: 3, fill: "var(--mark)", "fill-opacity": .6 });
    dot.append(shape("title", {}, h.time + "\n" + h.design + "\n" + percent(h.predicted_fpr)));
    svg.append(dot);
  });
  svg.append(shape("text", { x: left, y: height - 8 }, history[0].time));
  svg.append(shape("text", { x: width - right, y: height - 8, "text-anchor": "end" }, history[history.length - 1].time));
  root.append(el("div", { class: "soft", text: "Each dot is a filter that was built: when, and the false positive rate that its model predicted." }), svg);
  return root;
}

document.getElementById("families").append(...data.families.map(drawFamily));
document.getElementById("history").append(drawHistory(data.history));
</script>
</body>
</html>
)html";

// Of the time of a log line, such as 2026/01/31-23:59:59.123456, the seconds
// since some day, all months being as long as the longest.
uint64_t SecondsOf(const std::string& time) {
  unsigned year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  sscanf(time.c_str(), "%u/%u/%u-%u:%u:%u", &year, &month, &day, &hour, &minute,
         &second);
  return ((((uint64_t{year} * 12 + month) * 31 + day) * 24 + hour) * 60 +
          minute) *
             60 +
         second;
}

}  // namespace

std::string RenderPage(const Page& page) {
  Json data;
  data["title"] = page.title;
  data["time"] = page.time;
  data["families"] = Json::array();
  for (const PageFamily& family : page.families) {
    Json entry;
    entry["name"] = family.name;
    entry["filter_policy"] = family.filter_policy;
    entry["files"] = family.files;
    entry["levels"] = family.levels;
    data["families"].push_back(std::move(entry));
  }
  data["history"] = Json::array();
  for (const DesignedFilter& filter : page.history) {
    Json entry;
    entry["time"] = filter.time;
    entry["seconds"] = SecondsOf(filter.time);
    entry["design"] = filter.design;
    entry["predicted_fpr"] = filter.predicted_fpr;
    data["history"].push_back(std::move(entry));
  }
  std::string json = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Nothing in it ends the script, or begins a comment in it.
  std::string escaped;
  for (const char c : json) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped.push_back(c);
    }
  }
  return kHead + escaped + kTail;
}

std::vector<DesignedFilter> ReadDesigns(const std::string& log) {
  const std::string kMark = " Protean: ";
  const std::string kRate = ": predicted false positive rate ";
  std::vector<DesignedFilter> designs;
  std::istringstream lines(log);
  std::string line;
  while (std::getline(lines, line)) {
    const size_t mark = line.find(kMark);
    const size_t rate = line.find(kRate);
    if (mark == std::string::npos || rate == std::string::npos || rate < mark) {
      continue;
    }
    DesignedFilter filter;
    filter.time = line.substr(0, line.find_first_of(". "));
    const size_t begin = mark + kMark.size();
    filter.design = line.substr(begin, rate - begin);
    filter.predicted_fpr = strtod(line.c_str() + rate + kRate.size(), nullptr);
    designs.push_back(std::move(filter));
  }
  return designs;
}

}  // namespace ROCKSDB_NAMESPACE::protean
