// The page is whole without this. With it: news without a reload, actions behind a switch, keys.
"use strict";
(() => {
  const $ = (what, from = document) => from.querySelector(what);
  const $$ = (what, from = document) => [...from.querySelectorAll(what)];
  const root = document.documentElement;
  const link = $("#link");
  if (!link) return;

  // --- words about what happened
  const say = (text, bad) => {
    const line = document.createElement("p");
    line.textContent = text;
    if (bad) { line.className = "bad"; line.setAttribute("role", "alert"); }
    $("#said").append(line);
    setTimeout(() => line.remove(), bad ? 15000 : 6000);
  };

  // --- ages stay true while the page is open
  const span = (s) => {
    if (s < 90) return s + " s";
    if (s < 5400) return Math.floor(s / 60) + " min";
    if (s < 172800) return Math.floor(s / 3600) + " h";
    return Math.floor(s / 86400) + " d";
  };
  const ago = (ms) => {
    const s = Math.trunc(ms / 1000);
    if (Math.abs(s) < 2) return "now";
    return s < 0 ? "in " + span(-s) : span(s) + " ago";
  };
  const ages = (from = document) => $$("time[data-age]", from).forEach((time) => {
    const words = ago(Date.now() - Date.parse(time.dateTime));
    if (time.textContent !== words) time.textContent = words;
  });
  setInterval(() => document.hidden || ages(), 5000);

  // --- the new page into the old one: what is the same stays, with its scroll, focus, selection and open details
  const kept = new Set(["open", "checked", "hidden", "class", "draggable"]);
  const same = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");
  const merge = (old, now) => {
    if (old.nodeType === Node.TEXT_NODE) { if (old.data !== now.data) old.data = now.data; return; }
    if (old.nodeType !== Node.ELEMENT_NODE) return;
    for (const { name, value } of [...now.attributes])
      if (!kept.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    for (const { name } of [...old.attributes]) if (!kept.has(name) && !now.hasAttribute(name)) old.removeAttribute(name);
    if (now.className !== undefined && typeof now.className === "string") {
      const at = old.classList.contains("at");
      if (old.className !== now.className) old.className = now.className;
      old.classList.toggle("at", at);
      if (!old.classList.length) old.removeAttribute("class");
    }
    // What somebody types or chooses is theirs; a choice that nobody makes now follows the news.
    if (old.matches("textarea, input")) return;
    if (old.matches("select")) { if (document.activeElement !== old && old.innerHTML !== now.innerHTML) old.replaceChildren(...now.childNodes); return; }
    const byId = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
    let place = old.firstChild;
    for (const child of [...now.childNodes]) {
      let twin = child.id ? byId.get(child.id) : null;
      if (!twin && !child.id && place && same(place, child)) twin = place;
      if (twin) {
        if (twin === place) place = place.nextSibling; else old.insertBefore(twin, place);
        merge(twin, child);
      } else {
        const fresh = document.importNode(child, true);
        old.insertBefore(fresh, place);
        if (fresh.nodeType === Node.ELEMENT_NODE && fresh.matches("[data-row]")) fresh.classList.add("fresh");
      }
    }
    while (place) { const next = place.nextSibling; place.remove(); place = next; }
  };

  let fetching = false, again = false;
  const refresh = async () => {
    if (fetching) { again = true; return; }
    fetching = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (answer.ok) {
        const now = new DOMParser().parseFromString(await answer.text(), "text/html");
        const [mine, theirs] = [$("#main"), $("#main", now)];
        if (theirs) { merge(mine, theirs); prepare(); }
      } else if (answer.status === 401) lost(over);
    } catch { /* the stream tells */ }
    fetching = false;
    if (again) { again = false; refresh(); }
  };
  let soon = null;
  // A page that nobody sees costs nothing; it is fetched when somebody looks.
  const news = () => { if (!soon && !document.hidden) soon = setTimeout(() => { soon = null; refresh(); }, 120); };

  // --- the stream of events; it goes on behind the last one after a break
  const lost = (words) => { link.dataset.state = "lost"; link.textContent = words; };
  let cursor = $("#main").dataset.cursor, wait = 500, quiet = null, source = null;
  const listen = () => {
    source = new EventSource("/api/v1/events?since=" + encodeURIComponent(cursor));
    const alive = () => { clearTimeout(quiet); quiet = setTimeout(() => { lost("disconnected"); }, 40000); };
    source.addEventListener("open", (event) => {
      alive();
      if (!event.data) { link.dataset.state = "live"; link.textContent = "live"; wait = 500; }
      if (event.lastEventId) cursor = event.lastEventId;
    });
    for (const kind of ["message", "stage", "note", "presence", "task", "team", "reset"])
      source.addEventListener(kind, (event) => { alive(); if (event.lastEventId) cursor = event.lastEventId; news(); });
    source.onerror = () => {
      lost("disconnected: trying again");
      source.close();
      setTimeout(tryAgain, wait);
    };
  };
  // A server that is away comes back; a session that is over does not.
  const over = "session over: open the address that atm web prints";
  const tryAgain = async () => {
    wait = Math.min(wait * 2, 10000);
    const answer = await fetch("/assets/atm.svg", { cache: "no-store" }).catch(() => null);
    if (!answer || answer.status !== 401) return listen();
    lost(over);
    setTimeout(tryAgain, wait);
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { ages(); news(); } });

  // --- the switch: the page opens for looking
  const acting = $("#acting");
  const isActing = () => acting && acting.checked;
  const show = () => $$(".act").forEach((part) => { part.hidden = !isActing(); });
  if (acting) {
    acting.closest("label").hidden = false;
    acting.checked = false;
    acting.addEventListener("change", show);
  }

  // --- doing something
  const post = async (path, body) => {
    const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error([said.detail || answer.statusText, said.hint].filter(Boolean).join(" — "));
    return said;
  };
  const result = (said) => {
    if ("marked" in said) return said.marked + " marked as read";
    if (said.woken === false) return "not woken: " + said.why;
    const sent = said.sent || said;
    const words = sent.stage ? "done: " + (sent.to ? "to " + sent.to + ", " : "") + sent.stage : "done";
    return [words, ...(said.warnings || [])].join("; ");
  };
  const act = async (element, path, body) => {
    if (!isActing()) return say("switch actions on first ( t )", true);
    element.disabled = true;
    try { say(result(await post(path, body))); news(); return true; }
    catch (error) { say(error.message, true); return false; }
    finally { element.disabled = false; }
  };
  const body = (element) => JSON.parse(element.dataset.body || "{}");
  const picked = () => $$("#bulk input[name=pick]:checked");
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.post) act(button, button.dataset.post, body(button));
    else if (button.dataset.bulk) {
      const boxes = picked();
      if (!boxes.length) return say("nothing is selected", true);
      for (const box of boxes)
        if (await act(button, button.dataset.bulk, { ...body(button), [button.dataset.as || "id"]: box.value })) box.checked = false;
    }
  });
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.id === "bulk") return event.preventDefault();
    if (!form.dataset.post) return;
    event.preventDefault();
    const given = body(form);
    for (const [name, value] of new FormData(form)) if (value !== "") given[name] = value;
    if (await act($("button", form), form.dataset.post, given)) form.reset();
  });
  document.addEventListener("change", (event) => {
    const part = event.target;
    if (part.dataset.assign) act(part, part.dataset.assign, { ...body(part), owner: part.value });
    if ("all" in part.dataset) $$("#bulk [data-row]:not([hidden]) input[name=pick]").forEach((box) => { box.checked = part.checked; });
  });

  // --- a task is dropped on a member
  let dragged = null;
  document.addEventListener("dragstart", (event) => { dragged = event.target.closest("[data-task]"); });
  document.addEventListener("dragover", (event) => {
    const target = event.target.closest && event.target.closest(".target");
    $$(".target.over").forEach((one) => one.classList.toggle("over", one === target));
    if (target && dragged) { target.classList.add("over"); event.preventDefault(); }
  });
  document.addEventListener("drop", (event) => {
    const target = event.target.closest(".target");
    if (!target || !dragged) return;
    event.preventDefault();
    target.classList.remove("over");
    act(target, "/api/v1/tasks/" + dragged.dataset.task, { team: dragged.dataset.team, owner: target.dataset.owner });
    dragged = null;
  });

  // --- keys
  const rows = () => $$("[data-row]:not([hidden])");
  const at = () => rows().find((row) => row.classList.contains("at"));
  const go = (step) => {
    const all = rows(), now = all.indexOf(at());
    const next = all[Math.min(Math.max(now + step, 0), all.length - 1)];
    if (!next) return;
    $$(".at").forEach((row) => row.classList.remove("at"));
    next.classList.add("at");
    const main = $("[data-main]", next);
    if (main) main.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };
  const places = { h: "/", n: "/stats", f: "/trouble", t: "tasks", p: "plans" };
  let prefix = false;
  const keys = {
    "?": () => $("#keys").showModal(),
    "/": () => $(".find input").focus(),
    j: () => go(1), k: () => go(-1),
    x: () => { const box = at() && $("input[name=pick]", at()); if (box && isActing()) box.checked = !box.checked; },
    a: () => { const all = $("[data-bulk$='/acks']"); if (all && picked().length) return all.click(); const one = at() && $("[data-post$='/acks']", at()) || $("section.act [data-post$='/acks']"); if (one) one.click(); },
    m: () => { const all = $("[data-bulk$='/mutes']"); if (all && picked().length) return all.click(); const one = at() && $("[data-post$='/mutes']", at()); if (one) one.click(); },
    r: () => { const text = $("#reply textarea"); if (text && isActing()) text.focus(); else say("switch actions on first ( t )", true); },
    w: () => { const one = at() && $("button[data-post]", at()); if (one) one.click(); },
    o: () => { const one = at() && $("select[data-assign]", at()); if (one && isActing()) one.focus(); },
    t: () => { if (acting) { acting.checked = !acting.checked; show(); say(acting.checked ? "actions are on" : "actions are off"); } },
    g: () => { prefix = true; setTimeout(() => { prefix = false; }, 1500); },
  };
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "k") { event.preventDefault(); return openPalette(); }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=checkbox]), textarea, select") || $("dialog[open]")) return;
    if (prefix && places[event.key]) {
      prefix = false;
      const place = places[event.key];
      const found = place.startsWith("/") ? place : ($$("nav.below a").find((one) => one.href.endsWith("/" + place)) || {}).href;
      if (found) location.href = found;
      return;
    }
    const does = keys[event.key];
    if (does) { event.preventDefault(); does(); }
  });

  // --- the palette: every page that is linked, every action of this one
  const palette = $("#palette");
  const openPalette = () => {
    const input = $("input", palette), list = $("ul", palette);
    const all = [
      ...$$("header nav a").map((one) => ({ words: "Go to " + one.textContent, run: () => { location.href = one.href; } })),
      ...(isActing() ? $$("main button[data-post]") : []).map((one) => ({
        words: one.textContent + " — " + ((one.parentElement.querySelector(".cmd") || {}).textContent || ""), run: () => one.click() })),
      { words: "Actions on or off", run: keys.t }, { words: "Keys", run: keys["?"] }, { words: "Search", run: keys["/"] },
    ];
    const fill = () => {
      const wanted = input.value.toLowerCase();
      list.replaceChildren(...all.filter((one) => one.words.toLowerCase().includes(wanted)).slice(0, 30).map((one, index) => {
        const item = document.createElement("li"), button = document.createElement("button");
        button.type = "button";
        button.textContent = one.words;
        button.addEventListener("click", () => { palette.close(); one.run(); });
        item.append(button);
        item.classList.toggle("at", index === 0);
        return item;
      }));
    };
    input.value = "";
    input.oninput = fill;
    input.onkeydown = (event) => {
      const items = $$("li", list), now = items.findIndex((one) => one.classList.contains("at"));
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) { event.preventDefault(); items.forEach((one) => one.classList.remove("at")); const next = items[(now + step + items.length) % items.length]; if (next) { next.classList.add("at"); next.scrollIntoView({ block: "nearest" }); } }
      if (event.key === "Enter" && items[now]) { event.preventDefault(); $("button", items[now]).click(); }
    };
    fill();
    palette.showModal();
    input.focus();
  };

  const prepare = () => {
    show();
    ages();
    $$("[data-draggable]").forEach((card) => { card.draggable = Boolean(isActing()); });
  };
  if (acting) acting.addEventListener("change", prepare);
  prepare();
  listen();
})();
