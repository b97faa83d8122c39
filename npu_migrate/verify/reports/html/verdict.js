"use strict";
(() => {
  document.querySelectorAll(".tail").forEach((tail) => { tail.scrollTop = tail.scrollHeight; });
  const form = document.getElementById("reader");
  if (!form) return;
  const values = [...document.querySelectorAll(".rank-values")].map((each) => JSON.parse(each.textContent));
  const ranks = [...document.querySelectorAll(".rank")];
  const table = document.getElementById("values");
  const slider = form.elements.step;
  const rank = () => (form.elements.rank ? Number(form.elements.rank.value) : 0);

  const cell = (tag, text, className) => Object.assign(document.createElement(tag), { textContent: text, className });
  const row = (quantity, step) => {
    const made = document.createElement("tr");
    const apart = quantity.apart[step - 1] ?? "";
    if (apart !== "" && apart !== "0") made.className = "apart";
    const title = cell("th", quantity.title, "");
    title.scope = "row";
    made.append(title, cell("td", quantity.original[step - 1] ?? "", "number"),
      cell("td", quantity.migrated[step - 1] ?? "", "number"), cell("td", apart, "number"));
    return made;
  };
  const show = () => {
    const number = rank();
    const { last, quantities } = values[number];
    slider.max = last;
    const step = Number(slider.value);
    ranks.forEach((section, each) => { section.hidden = each !== number; });
    form.elements.shown.textContent = `${step} of ${last}`;
    table.tBodies[0].replaceChildren(...quantities.map((quantity) => row(quantity, step)));
    const end = Number(ranks[number].dataset.last);
    const x = end > 1 ? (1000 * (step - 1)) / (end - 1) : 500;
    ranks[number].querySelectorAll(".cursor").forEach((path) => path.setAttribute("d", `M${x} 0V100`));
  };
  const point = (event) => {
    const plot = event.target.closest("svg");
    if (!plot || (event.type === "pointermove" && event.buttons === 0 && event.pointerType !== "mouse")) return;
    const box = plot.getBoundingClientRect();
    const end = Number(ranks[rank()].dataset.last);
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    slider.value = 1 + Math.round(share * (end - 1));
    show();
  };
  ranks.forEach((section) => {
    section.addEventListener("pointerdown", point);
    section.addEventListener("pointermove", point);
  });
  const start = slider.getAttribute("value");
  form.oninput = show;
  form.onsubmit = (event) => event.preventDefault();
  form.hidden = false;
  table.hidden = false;
  slider.max = values[0].last;
  slider.value = start;
  show();
})();
