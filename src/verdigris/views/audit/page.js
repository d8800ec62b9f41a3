"use strict";
// The legend becomes switches; a dot of the timeline opens its unit.
const legend = document.querySelector(".legend");
const switches = [...document.querySelectorAll("[data-filter]")];
const marked = [...document.querySelectorAll("[data-outcome]")];
const none = document.getElementById("none");

function filterUnits() {
  const shown = new Set(switches.filter((box) => box.checked).map((box) => box.dataset.filter));
  for (const element of marked) element.hidden = !shown.has(element.dataset.outcome);
  if (none) none.hidden = shown.size > 0;
}

function openTarget() {
  const unit = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (unit && unit.tagName === "DETAILS") unit.open = true;
}

if (legend && switches.length > 1) {
  legend.classList.add("filters");
  for (const box of switches) {
    box.hidden = false;
    box.addEventListener("change", filterUnits);
  }
  filterUnits();
}
addEventListener("hashchange", openTarget);
openTarget();
