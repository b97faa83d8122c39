"use strict";
(() => {
  const data = (id) => JSON.parse(document.getElementById(id).textContent);
  const statuses = data("statuses");
  const rules = data("rules");
  const files = data("file-data");
  const findings = data("finding-data");
  const ofFile = files.map(() => []);
  findings.forEach((finding) => ofFile[finding[0]].push(finding));

  const element = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };
  const place = ([file, cell, line, column]) =>
    `${files[file].path}${cell ? `:cell ${cell}` : ""}:${line}:${column}`;
  const opener = (file, text) =>
    element("button", { className: "place", onclick: () => open(file) }, text);

  // A table that shows the first rows of what is sorted and filtered, and all on demand.
  const PAGE = 200;
  class List {
    constructor(table, row, keys) {
      this.table = table;
      this.row = row;
      this.keys = keys;
      this.shown = [];
      this.limit = PAGE;
      this.more = table.parentElement.querySelector(".more");
      this.more.onclick = () => { this.limit = Infinity; this.render(); };
      table.tHead.querySelectorAll("button").forEach((button) => {
        button.onclick = () => this.sort(button);
      });
    }
    show(items) { this.shown = items; this.order(); this.render(); }
    sort(button) {
      const head = button.parentElement;
      const ascending = head.getAttribute("aria-sort") !== "ascending";
      this.table.tHead.querySelectorAll("th").forEach((th) => th.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      this.by = [this.keys(button.dataset.key), ascending ? 1 : -1];
      this.order();
      this.render();
    }
    order() {
      if (!this.by) return;
      const [key, sign] = this.by;
      const compare = (a, b) => (a < b ? -sign : a > b ? sign : 0);
      this.shown = [...this.shown].sort((a, b) => compare(key(a), key(b)));
    }
    render() {
      this.table.tBodies[0].replaceChildren(...this.shown.slice(0, this.limit).map(this.row));
      this.more.hidden = this.shown.length <= this.limit;
      this.more.textContent = `Show all ${this.shown.length}`;
    }
  }

  const fileList = new List(
    document.getElementById("file-table"),
    (file) => element("tr", {},
      element("td", {}, opener(files.indexOf(file), file.path)),
      element("td", {}, file.changed ? "yes" : "no"),
      ...file.counts.map((count, number) => {
        const cell = element("td", { className: "number" }, count ? String(count) : "");
        cell.dataset.name = statuses[number];
        return cell;
      })),
    (key) => (key === "path" ? (file) => file.path
      : key === "changed" ? (file) => !file.changed
      : (file) => -file.counts[key]),
  );
  const findingList = new List(
    document.getElementById("finding-table"),
    (finding) => element("tr", {},
      element("td", { className: statuses[finding[5]] }, statuses[finding[5]]),
      element("td", { title: rules[finding[4]].name }, finding[4]),
      element("td", {}, opener(finding[0], place(finding))),
      element("td", {}, finding[6], ...(finding[7]
        ? [element("div", { className: "remedy" }, finding[7])] : []))),
    (key) => (key === "0"
      ? (finding) => [files[finding[0]].path, ...finding.slice(1, 4).map((n) => String(n).padStart(7, "0"))].join("\0")
      : (finding) => finding[key]),
  );

  const form = document.getElementById("filter");
  const filter = () => {
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const family = form.elements.family.value;
    const wanted = new Set([...form.querySelectorAll("[name=status]:checked")].map((box) => Number(box.value)));
    const matches = findings.filter((finding) => {
      const rule = rules[finding[4]];
      if (!wanted.has(finding[5]) || (family && rule.family !== family)) return false;
      const text = `${place(finding)} ${finding[4]} ${rule.name} ${finding[6]} ${finding[7]}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    form.querySelector("output").textContent = `${matches.length} of ${findings.length}`;
    findingList.show(matches);
  };
  form.oninput = filter;
  form.onsubmit = (event) => event.preventDefault();

  // The changes of one file.
  const dialog = document.getElementById("file");
  const body = document.getElementById("file-body");
  let current = 0;

  const said = (finding) => {
    const rule = rules[finding[4]];
    const where = finding[1] ? `cell ${finding[1]}, line ${finding[2]}` : `line ${finding[2]}`;
    const item = element("li", { className: statuses[finding[5]] },
      element("b", {}, `${finding[4]} ${rule.name}`),
      element("span", {}, ` (${statuses[finding[5]]}, ${where}): ${finding[6]}`));
    if (finding[7]) item.append(element("span", { className: "remedy" }, `To do: ${finding[7]}`));
    const reason = element("span", { className: "reason" }, rule.reason);
    if (/^https?:/.test(rule.documentation)) {
      reason.append(" ", element("a", { href: rule.documentation, target: "_blank", rel: "noopener noreferrer" }, "Documentation"));
    }
    item.append(reason);
    return item;
  };
  const side = (number, html, className) => {
    const text = element("td", { className: number ? className : "empty" });
    text.innerHTML = html; // made and escaped by highlight.py
    return [element("td", { className: `at ${number ? className : "empty"}` }, number ? String(number) : ""), text];
  };
  const row = ([left, before, right, after]) => element("tr", {},
    ...side(left, before, after === undefined ? "" : "removed"),
    ...side(right, after === undefined ? before : after, after === undefined ? "same" : "added"));
  const sides = (rows) => element("table", { className: "diff" },
    element("colgroup", {}, element("col", { className: "line" }), element("col"),
      element("col", { className: "line" }), element("col")),
    element("tbody", {}, ...rows.map(row)));
  const list = (items) => element("ul", { className: "said" }, ...items.map(said));

  const fill = () => {
    const mine = ofFile[current];
    const hunks = data(`diff-${current}`);
    const placed = new Set(hunks.flatMap((hunk) => hunk.findings));
    const others = mine.filter((_, number) => !placed.has(number));
    document.getElementById("file-title").textContent = files[current].path;
    body.replaceChildren(list(others), ...hunks.flatMap((hunk) => [
      list(hunk.findings.map((number) => mine[number])), sides(hunk.rows)]));
    body.scrollTop = 0;
  };
  const step = (by) => {
    const order = fileList.shown;
    const at = order.indexOf(files[current]) + by;
    current = files.indexOf(order[(at + order.length) % order.length]);
    fill();
  };
  function open(file) { current = file; fill(); dialog.showModal(); body.focus(); }
  document.getElementById("close").onclick = () => dialog.close();
  document.getElementById("previous").onclick = () => step(-1);
  document.getElementById("next").onclick = () => step(1);
  dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); };

  fileList.show(files);
  filter();
})();
