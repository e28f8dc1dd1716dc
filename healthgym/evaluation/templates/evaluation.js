"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const PAGE = 50;
  const OUTCOMES = ["wrong", "partly", "unanswered", "lost", "right"];
  const byId = (id) => document.getElementById(id);
  const rows = data.rows;
  const found = { list: [], shown: 0 };
  const chosen = { outcome: "", status: "", strata: {}, text: "" };

  // Text is only ever set as text. Control characters and marks that turn writing around are made visible.
  const plain = (text) =>
    String(text)
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
      .replace(/\u007f/g, "\u2421")
      .replace(/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g, (c) => "\u27e8U+" + c.charCodeAt(0).toString(16).toUpperCase() + "\u27e9");
  const make = (tag, name, text) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined && text !== null) element.textContent = plain(text);
    return element;
  };
  const spaced = (word) => String(word).replaceAll("_", " ");
  const count = (number, one, many) => number.toLocaleString("en") + " " + (number === 1 ? one : many || one + "s");
  const counted = (words) => {
    const times = new Map();
    for (const word of words) times.set(word, (times.get(word) || 0) + 1);
    return [...times].map(([word, number]) => (number > 1 ? word + " (" + number + " times)" : word));
  };
  const number = (value) => (Number.isInteger(value) ? String(value) : Number(value).toFixed(3));

  const searched = (row) => {
    if (row.hay === undefined) {
      row.hay = [row.id, row.o, row.p, row.y, row.e, JSON.stringify(row.q), JSON.stringify(row.d)].filter(Boolean).join("\n").toLowerCase();
    }
    return row.hay;
  };
  const fits = (row, except) =>
    (except === "outcome" || !chosen.outcome || row.k === chosen.outcome) &&
    (except === "status" || !chosen.status || row.s === chosen.status) &&
    Object.entries(chosen.strata).every(([name, value]) => except === name || !value || (row.g || {})[name] === value) &&
    (!chosen.text || chosen.text.split(/\s+/).every((word) => searched(row).includes(word)));

  // Each menu counts what it would leave under the other filters.
  const menus = [];
  const menu = (select, key, read, write, order) => {
    const values = [...new Set(rows.map(read).filter((value) => value !== undefined))];
    values.sort(order || ((a, b) => a.localeCompare(b, "en", { numeric: true })));
    select.append(new Option("all", ""), ...values.map((value) => new Option(spaced(value), value)));
    select.addEventListener("change", () => { write(select.value); draw(); });
    menus.push(() => {
      const counts = new Map();
      for (const row of rows) if (fits(row, key)) counts.set(read(row), (counts.get(read(row)) || 0) + 1);
      for (const option of select.options) {
        if (option.value) option.text = spaced(option.value) + " (" + (counts.get(option.value) || 0).toLocaleString("en") + ")";
      }
    });
    return values.length;
  };

  const draw = () => {
    found.list = rows.filter((row) => fits(row));
    found.shown = 0;
    byId("rows").replaceChildren();
    menus.forEach((refresh) => refresh());
    byId("count").textContent =
      count(found.list.length, "row") + (found.list.length === rows.length ? "" : " of " + rows.length.toLocaleString("en")) +
      "; those that were not right come first.";
    more();
  };
  const more = () => {
    const next = found.list.slice(found.shown, found.shown + PAGE);
    byId("rows").append(...next.map(line));
    found.shown += next.length;
    const left = found.list.length - found.shown;
    byId("more").hidden = left === 0;
    byId("more").textContent = "Show " + Math.min(PAGE, left) + " more of " + left.toLocaleString("en");
  };

  const line = (row) => {
    const details = make("details", "row");
    const summary = make("summary");
    const mark = row.k === "partly" ? "partly " + number(row.v) : row.k === "unanswered" ? row.s : row.k;
    const gist = row.e || (row.u ? ended(row) : row.p !== undefined && row.y !== undefined ? row.p + " (gold " + row.y + ")" : row.p || row.o || "");
    const facts = [
      row.u && count(row.u, "turn"), row.c && count(row.c, "call"), row.n && count(row.n, "token"), row.h && count(row.h, "hazard"),
    ].filter(Boolean).join(", ");
    summary.append(
      make("span", "mark " + row.k, spaced(mark)), make("span", "id", row.id + (row.a ? " · attempt " + row.a : "")),
      make("span", "gist", String(gist).slice(0, 200)), make("span", "facts", facts),
    );
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (details.open && !details.querySelector(".body")) details.append(body(row));
    });
    return details;
  };

  // An episode in a line: what it came to, what harm it did, what it never looked at.
  const ended = (row) => {
    const detail = row.d || {};
    const named = (list) => (Array.isArray(list) ? counted(list.map((each) => each.label || each)).join(", ") : "");
    const harm = named(detail.hazards);
    const missing = named(detail.missing_evidence);
    const stop = detail.stop_reason && detail.stop_reason !== "submitted" ? detail.stop_reason : "";
    return [spaced(row.p || ""), spaced(stop), harm && "harm: " + harm, missing && "not seen: " + missing].filter(Boolean).join("; ");
  };

  const part = (title, ...content) => {
    const element = make("div", "part");
    element.append(make("h4", "", title), ...content);
    return element;
  };
  const pairs = (values) => {
    const element = make("div", "answers");
    for (const [name, value] of values) {
      const pair = make("div");
      pair.append(make("span", "", spaced(name) + " "), make("b", "", typeof value === "number" ? number(value) : value));
      element.append(pair);
    }
    return element;
  };
  const folded = (title, text, open) => {
    const details = make("details");
    details.open = Boolean(open);
    details.append(make("summary", "", title), make("div", "text", text));
    return details;
  };
  const words = (value) => {
    if (typeof value === "string") return value;
    if (value === null) return "";
    if (Array.isArray(value) && value.every((each) => typeof each !== "object")) return value.join("\n");
    if (value && typeof value === "object" && !Array.isArray(value) && Object.values(value).every((each) => typeof each !== "object")) {
      return Object.entries(value).map(([name, each]) => name + ". " + each).join("\n");
    }
    return JSON.stringify(value, null, 2);
  };
  const ASKED = ["messages", "prompt", "question", "image", "images", "context", "options", "choices"];
  const asked = (content) => {
    if (content === null || typeof content !== "object") return [part("Question", make("div", "text", content))];
    const names = ASKED.filter((name) => content[name] !== undefined && words(content[name]));
    const rest = Object.keys(content).filter((name) => !ASKED.includes(name));
    const made = names.map((name) => part(spaced(name)[0].toUpperCase() + spaced(name).slice(1), make("div", "text", words(content[name]))));
    if (rest.length) made.push(folded("More of the item", rest.map((name) => name + ": " + words(content[name])).join("\n")));
    return made;
  };

  const body = (row) => {
    const element = make("div", "body");
    const trace = data.traces[row.id + "\t" + (row.a || 0)];
    const detail = { ...(row.d || {}) };
    if (row.e) element.append(part("Error", make("div", "text", row.e)));
    if (row.q !== undefined && !trace) element.append(...asked(row.q));
    const shownOfDetail = ASKED.filter((name) => detail[name] !== undefined);
    if (row.q === undefined && shownOfDetail.length) {
      element.append(...asked(Object.fromEntries(shownOfDetail.map((name) => [name, detail[name]]))));
      shownOfDetail.forEach((name) => delete detail[name]);
    }
    if (trace) element.append(...episode(trace));
    else if (row.o !== undefined) element.append(part("Output", make("div", "text", row.o)));
    const answers = [
      ["status", spaced(row.s)], ["answer read", row.p === undefined ? "none" : row.p], ["gold", row.y], ["score", row.v],
      ...Object.entries(trace ? {} : row.x || {}), ...Object.entries(row.g || {}), ["seed", row.w || 0],
    ].filter(([, value]) => value !== undefined && value !== null);
    element.append(part("Judged", pairs(answers)));
    if (Object.keys(detail).length) {
      element.append(folded("Further details", Object.entries(detail).map(([name, value]) => spaced(name) + ": " + (typeof value === "object" ? JSON.stringify(value) : value)).join("\n")));
    }
    if (!trace && row.u && row.v !== 1) element.append(make("p", "sub", "This episode's turns are not on the page; traces.jsonl has them."));
    return element;
  };

  const episode = (trace) => {
    const made = [];
    const judged = [
      ["outcome", spaced(trace.outcome)], ["ended by", spaced(trace.stop)], ["reward", trace.reward],
      ...Object.entries(trace.scores), ["evidence seen", trace.evidence], ["failed calls", trace.failures],
      ["minutes passed", trace.minutes],
    ].filter(([, value]) => value !== undefined && value !== null);
    made.push(part("Grade", pairs(judged)));
    const parts = Object.entries(trace.parts || {});
    if (parts.length) made.push(part("Credit by part", pairs(parts)));
    const list = (title, values) => {
      const items = make("ul", "bad-list");
      items.append(...values.map((value) => make("li", "", value)));
      made.push(part(title, items));
    };
    if (trace.hazards.length) {
      list("Harm", trace.hazards.map((hit) => hit.label + " (" + hit.severity + (hit.turn ? ", turn " + hit.turn : "") + ")" + (hit.detail ? ": " + hit.detail : "")));
    }
    if (trace.missing.length) list("Evidence not seen", counted(trace.missing));
    if (trace.system !== null && trace.system !== undefined) made.push(folded("System prompt", data.systems[trace.system]));
    const talk = make("div", "talk");
    talk.tabIndex = 0;
    let turn = 0;
    for (const said of trace.lines) {
      const block = make("div", "turn");
      if (said.r === "assistant") {
        turn += 1;
        block.append(make("div", "who", "turn " + turn));
        if (said.t && said.t.trim()) block.append(make("div", "said", said.t));
        for (const [name, text] of said.c || []) {
          const call = make("div", "call");
          call.append(make("b", "", name), document.createTextNode("(" + plain(text) + ")"));
          block.append(call);
        }
      } else {
        const failed = said.r === "tool" && said.t.startsWith("Error:");
        block.append(make("div", failed ? "error" : said.r === "tool" ? "result" : "note", (said.n ? said.n + ": " : "") + said.t));
      }
      talk.append(block);
    }
    made.push(part("Turn by turn", talk));
    return made;
  };

  menu(byId("f-outcome"), "outcome", (row) => row.k, (value) => { chosen.outcome = value; }, (a, b) => OUTCOMES.indexOf(a) - OUTCOMES.indexOf(b));
  menu(byId("f-status"), "status", (row) => row.s, (value) => { chosen.status = value; });
  for (const name of [...new Set(rows.flatMap((row) => Object.keys(row.g || {})))].sort()) {
    const label = make("label", "", spaced(name)[0].toUpperCase() + spaced(name).slice(1) + " ");
    const select = make("select");
    select.dataset.stratum = name;
    label.append(select);
    if (menu(select, name, (row) => (row.g || {})[name], (value) => { chosen.strata[name] = value; }) > 1) byId("f-strata").append(label);
  }
  let waiting = 0;
  byId("f-text").addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { chosen.text = event.target.value.trim().toLowerCase(); draw(); }, 120);
  });
  byId("f-clear").addEventListener("click", () => {
    Object.assign(chosen, { outcome: "", status: "", strata: {}, text: "" });
    document.querySelectorAll(".filters select, .filters input").forEach((field) => { field.value = ""; });
    draw();
  });
  byId("more").addEventListener("click", more);
  draw();
})();
