// Every page works without this script, which adds three things. Live updates: after an event, the page is fetched
// again and its changed parts are replaced. Sorting: a click on a column heading. Drop: a file anywhere on its form.
"use strict";

const PAUSE = 1500; // minimum milliseconds between two fetches
const OFTEN = 5000; // milliseconds between two fetches of the list of experiments

function looker() {
  let wanted = false, busy = false;
  return async function look() {
    if (busy) { wanted = true; return; }
    busy = true;
    wanted = false;
    try {
      const answer = await fetch(location.pathname + location.search, {headers: {Accept: "text/html"}});
      if (answer.ok && !answer.redirected) show(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch { /* the service is unreachable: the next fetch tries again */ }
    setTimeout(() => { busy = false; if (wanted) look(); }, PAUSE);
  };
}

function follow(article) {
  const look = looker(), stream = new EventSource(article.dataset.follow);
  for (const kind of article.dataset.kinds.split(" ")) stream.addEventListener(kind, look);
  window.addEventListener("pagehide", () => stream.close());
}

function watch() { // a regular fetch of the list is cheaper than one stream per experiment
  const look = looker();
  setInterval(() => { if (!document.hidden) look(); }, OFTEN);
}

function show(fresh) {
  document.title = fresh.title;
  const [old, now] = [document, fresh].map(each => each.querySelector("h1"));
  const announced = document.getElementById("announced");
  if (announced && (old.dataset.arm !== now.dataset.arm || old.className !== now.className)) { // screen readers announce only a new leader or a new state
    announced.textContent = now.textContent;
  }
  for (const part of document.querySelectorAll("[data-live]")) {
    const latest = fresh.getElementById(part.id);
    if (!latest || latest.innerHTML === part.dataset.was || part.contains(document.activeElement)) continue;
    part.dataset.was = latest.innerHTML;
    const heads = [...part.querySelectorAll("thead th")], place = heads.findIndex(head => head.ariaSort);
    const down = place >= 0 && heads[place].ariaSort === "descending";
    const aside = [...part.querySelectorAll(".scroll")].map(each => each.scrollLeft);
    part.replaceChildren(...latest.childNodes);
    part.querySelectorAll(".scroll").forEach((each, i) => { each.scrollLeft = aside[i] || 0; });
    part.querySelectorAll("table.sortable").forEach(sortable);
    if (place >= 0) again(part.querySelector("table.sortable"), place, down);
  }
}

function again(table, place, down) {
  const head = table && table.querySelectorAll("thead th")[place];
  for (let i = 0; head && i < 2 && head.ariaSort !== (down ? "descending" : "ascending"); i++) head.firstChild.click();
}

function droppable(form) {
  const input = form.querySelector("input[type=file]");
  for (const name of ["dragenter", "dragover"]) {
    form.addEventListener(name, event => { event.preventDefault(); form.classList.add("over-it"); });
  }
  form.addEventListener("dragleave", () => form.classList.remove("over-it"));
  form.addEventListener("drop", event => {
    event.preventDefault();
    form.classList.remove("over-it");
    if (event.dataTransfer.files.length) input.files = event.dataTransfer.files;
  });
}

const article = document.querySelector("[data-follow]");
if (article && article.dataset.kinds) follow(article);
if (document.querySelector("[data-watch]")) watch();
document.querySelectorAll("table.sortable").forEach(sortable);
document.querySelectorAll("[data-drop]").forEach(droppable);
