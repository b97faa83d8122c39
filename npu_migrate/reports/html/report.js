"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = (id) => JSON.parse(byId(id).textContent);
  const states = data("states");
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

  // Addresses: #/path of a file, or #/path:line, or #/path:cell.line
  const encoded = (text) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, "?"));
  const address = (file, cell, line) =>
    `#/${files[file].path.split("/").map(encoded).join("/")}${line ? `:${cell ? `${cell}.` : ""}${line}` : ""}`;
  const link = (file, text, cell, line) =>
    element("a", { className: "place", href: address(file, cell, line) },
      ...text.split(/(?<=[/_])/).flatMap((part, number) => (number ? [element("wbr"), part] : [part])));

  // A table that shows the first rows of what is sorted and filtered, and more on demand.
  const STEP = 500;
  class List {
    constructor(table, first, row, keys) {
      const section = table.parentElement;
      Object.assign(this, { table, first, row, keys, shown: [], drawn: 0, drawing: 0 });
      this.none = section.querySelector(".none");
      this.rest = section.querySelector(".rest");
      const [more, all] = this.rest.children;
      more.onclick = () => this.draw(STEP);
      all.onclick = () => this.drawAll();
      table.tHead.querySelectorAll("button").forEach((button) => {
        button.onclick = () => this.sort(button);
      });
    }
    show(items) { this.shown = items; this.order(); this.render(); }
    sort(button) {
      const head = button.parentElement;
      const first = head.classList.contains("number") ? "descending" : "ascending";
      const now = head.getAttribute("aria-sort");
      const direction = now === null ? first : now === "ascending" ? "descending" : "ascending";
      this.table.tHead.querySelectorAll("th").forEach((th) => th.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction);
      this.by = [this.keys(button.dataset.key), direction === "ascending" ? 1 : -1];
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
      clearTimeout(this.drawing);
      [...this.table.tBodies].forEach((part) => part.remove());
      this.drawn = 0;
      this.none.hidden = this.shown.length > 0;
      this.table.hidden = this.shown.length === 0;
      this.draw(this.first);
    }
    draw(count) {
      const until = this.drawn + count;
      // A part of its own for each, since a browser lays parts out one by one.
      this.table.append(element("tbody", {}, ...this.shown.slice(this.drawn, until).map(this.row)));
      this.drawn = Math.min(until, this.shown.length);
      const left = this.shown.length - this.drawn;
      this.rest.hidden = left === 0;
      const [more, all] = this.rest.children;
      more.textContent = `Show ${Math.min(STEP, left)} more`;
      all.textContent = `Show all ${this.shown.length}`;
      all.hidden = left <= STEP;
    }
    drawAll() { // a part at a time, so that the page stays at hand
      this.draw(STEP);
      if (this.drawn < this.shown.length) this.drawing = setTimeout(() => this.drawAll());
    }
  }

  const fileList = new List(
    byId("file-table"), 25,
    (file) => {
      const number = files.indexOf(file);
      const cells = [["done", file.done === null ? "" : `${file.done} %`],
        ...file.counts.map((count, state) => [states[state].label, count ? String(count) : ""])];
      return element("tr", {},
        element("td", {}, link(number, file.path)),
        ...cells.map(([name, text]) => {
          const cell = element("td", { className: "number" }, ...(text ? [text] : []));
          cell.dataset.name = name;
          return cell;
        }));
    },
    (key) => (key === "path" ? (file) => file.path
      : key === "done" ? (file) => (file.done === null ? -1 : file.done)
      : (file) => file.counts[key]),
  );
  const findingList = new List(
    byId("finding-table"), 100,
    (finding) => element("tr", {},
      element("td", { className: states[finding[5]].key }, states[finding[5]].label),
      element("td", {}, coded(finding[4])),
      element("td", {}, link(finding[0], place(finding), finding[1], finding[2])),
      element("td", {}, finding[6], ...(finding[7]
        ? [element("div", { className: "remedy" }, finding[7])] : []))),
    (key) => (key === "0"
      ? (finding) => [files[finding[0]].path, ...finding.slice(1, 4).map((n) => String(n).padStart(7, "0"))].join("\0")
      : (finding) => finding[key]),
  );

  const words = (form) => form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
  const filtering = (form, all, list, fits) => {
    const filter = () => {
      const wanted = fits(form);
      const found = all.filter(wanted);
      form.querySelector("output").textContent = `${found.length} of ${all.length}`;
      list.show(found);
    };
    form.oninput = filter;
    form.onsubmit = (event) => event.preventDefault();
    list.none.querySelector(".reset").onclick = () => { form.reset(); filter(); };
    return filter;
  };
  const filterFiles = filtering(byId("file-filter"), files, fileList, (form) => {
    const sought = words(form);
    return (file) => sought.every((word) => file.path.toLowerCase().includes(word));
  });
  const form = byId("filter");
  const texts = new Map();
  const textOf = (finding) => {
    if (!texts.has(finding)) {
      const rule = rules[finding[4]];
      texts.set(finding, `${place(finding)} ${finding[4]} ${rule.name} ${finding[6]} ${finding[7]}`.toLowerCase());
    }
    return texts.get(finding);
  };
  const filter = filtering(form, findings, findingList, () => {
    const sought = words(form);
    const family = form.elements.family.value;
    const wanted = new Set([...form.querySelectorAll("[name=state]:checked")].map((box) => Number(box.value)));
    return (finding) => wanted.has(finding[5])
      && (!family || rules[finding[4]].family === family)
      && sought.every((word) => textOf(finding).includes(word));
  });

  // What speaks of some findings leads to them.
  const LEFT = states.map((state, number) => [state.key, number])
    .filter(([key]) => ["manual", "unsupported", "known"].includes(key)).map(([, number]) => number);
  const look = ({ code = "", family = "", folder = "", state }) => {
    form.reset();
    form.elements.text.value = code || (folder === "." ? "" : folder && `${folder}/`);
    form.elements.family.value = family;
    const wanted = state !== undefined ? [Number(state)] : code ? LEFT : null;
    if (wanted) {
      form.querySelectorAll("[name=state]").forEach((box) => { box.checked = wanted.includes(Number(box.value)); });
    }
    filter();
    byId("findings").scrollIntoView();
    form.elements.text.focus({ preventScroll: true });
  };
  document.querySelectorAll("button.look, button.tile").forEach((button) => {
    button.onclick = () => look(button.dataset);
  });

  // A rule in full.
  const ruleDialog = byId("rule");
  const coded = (code, text = code) => element("button",
    { className: "code", title: `What ${code} ${rules[code].name} is about`, onclick: () => explain(code) }, text);
  const documentation = (rule) => (/^https?:/.test(rule.documentation)
    ? [element("a", { href: rule.documentation, target: "_blank", rel: "noopener noreferrer" }, "Vendor's documentation")]
    : []);
  function explain(code) {
    const rule = rules[code];
    byId("rule-title").textContent = `${code} ${rule.name}`;
    const paragraph = (name, text) => (text ? [element("p", {}, element("b", {}, name), ` ${text}`)] : []);
    byId("rule-body").replaceChildren(
      ...paragraph("What:", rule.message),
      ...paragraph("Why:", rule.reason),
      ...paragraph("What to do:", rule.remedy),
      element("p", {}, ...documentation(rule), " The same on the command line, with all examples: ",
        element("code", {}, `npu-migrate --explain ${code}`)),
      ...rule.examples.flatMap(([before, after, note]) => [
        element("h3", {}, before === after ? "Left as it is" : "Before"),
        element("pre", {}, before),
        ...(before === after ? [] : [element("h3", {}, "After"), element("pre", {}, after)]),
        ...(note ? [element("p", {}, note)] : [])]));
    ruleDialog.showModal();
    byId("rule-body").scrollTop = 0;
    byId("rule-body").focus();
  }
  byId("rule-close").onclick = () => ruleDialog.close();

  // The changes of one file.
  const dialog = byId("file");
  const body = byId("file-body");
  let current = 0;

  const where = (finding) => link(current,
    finding[1] ? `cell ${finding[1]}, line ${finding[2]}` : `line ${finding[2]}`, finding[1], finding[2]);
  const said = (finding) => {
    const rule = rules[finding[4]];
    const state = states[finding[5]];
    const item = element("li", { className: state.key },
      coded(finding[4], `${finding[4]} ${rule.name}`),
      element("span", {}, ` (${state.label}, `, where(finding), `): ${finding[6]}`));
    item.dataset.place = `${finding[1]}.${finding[2]}`;
    if (finding[7]) item.append(element("span", { className: "remedy" }, `To do: ${finding[7]}`));
    item.append(element("span", { className: "reason" }, rule.reason, " ", ...documentation(rule)));
    return item;
  };
  const KINDS = ["Belongs to", "Import for", "Import that goes with"];
  const belongs = (kind, others) => {
    const seen = new Map(others.map((finding) => [finding[4], finding]));
    const parts = [...seen.values()].flatMap((finding, number) => [
      number ? ", " : "", coded(finding[4], `${finding[4]} ${rules[finding[4]].name}`), " (", where(finding), ")"]);
    return element("li", { className: "other" }, `${KINDS[kind]} `, ...parts,
      element("span", { className: "reason" }, [...seen.values()].map((f) => rules[f[4]].reason)[0] || ""));
  };
  const side = (number, html, className) => {
    const text = element("td", { className: number ? className : "empty" });
    text.innerHTML = html.replace(/^[ \t]+/, '<span class="indent">$&</span>'); // escaped by highlight.py
    const indent = /^[ \t]*/.exec(html)[0].replace(/\t/g, "    ").length;
    if (indent) text.style.paddingLeft = `min(.5rem + ${indent}ch, 18vw)`; // what wraps stays indented
    return [element("td", { className: `at ${number ? className : "empty"}` }, number ? String(number) : ""), text];
  };
  const row = ([left, before, right, after], cell, isOneSided) => {
    const made = element("tr", {},
      ...side(left, before, after === undefined ? "" : "removed"),
      ...isOneSided ? [] : side(right, after === undefined ? before : after, after === undefined ? "same" : "added"));
    if (left) made.dataset.place = `${cell}.${left}`;
    return made;
  };
  const sides = (hunk) => {
    const isOneSided = hunk.rows.every((one) => one.length === 3); // nothing changes
    const columns = () => [element("col", { className: "line" }), element("col")];
    return element("table", { className: "diff" },
      element("colgroup", {}, ...columns(), ...(isOneSided ? [] : columns())),
      element("tbody", {}, ...hunk.rows.map((one) => row(one, hunk.cell, isOneSided))));
  };
  const list = (items) => element("ul", { className: "said" }, ...items);

  const fill = () => {
    const mine = ofFile[current];
    const hunks = data(`diff-${current}`);
    const placed = new Set(hunks.flatMap((hunk) => hunk.findings));
    const others = mine.filter((_, number) => !placed.has(number));
    byId("file-title").textContent = files[current].path;
    let cell = 0;
    const parts = hunks.flatMap((hunk) => {
      const title = hunk.cell !== cell ? [element("h3", {}, `Cell ${hunk.cell}`)] : [];
      cell = hunk.cell;
      const kinds = KINDS.map((_, kind) => hunk.others.filter((o) => o[0] === kind).map((o) => mine[o[1]]));
      return [...title, list([
        ...hunk.findings.map((number) => said(mine[number])),
        ...kinds.flatMap((found, kind) => (found.length ? [belongs(kind, found)] : []))]), sides(hunk)];
    });
    body.replaceChildren(...(others.length ? [list(others.map(said))] : []), ...parts);
    body.scrollTop = 0;
  };
  const show = (file, at) => {
    if (ruleDialog.open) ruleDialog.close();
    current = file;
    fill();
    if (!dialog.open) dialog.showModal();
    body.focus();
    if (!at) return;
    const found = [...body.querySelectorAll("[data-place]")].filter((one) => one.dataset.place === at);
    found.forEach((one) => one.classList.add("target"));
    const line = found.find((one) => one.tagName === "TR") || found[0];
    // Not scrollIntoView, which scrolls the dialog around it as well.
    if (line) body.scrollTop += line.getBoundingClientRect().top - body.getBoundingClientRect().top - body.clientHeight / 2;
  };
  const numbers = new Map(files.map((file, number) => [address(number), number]));
  const route = () => {
    const [, path, cell, line] = /^(.*?)(?::(?:(\d+)\.)?(\d+))?$/.exec(location.hash);
    const file = numbers.get(path);
    if (file !== undefined) show(file, line && `${cell || 0}.${line}`);
    else if (dialog.open) dialog.close();
  };
  const step = (by) => {
    const order = fileList.shown.length ? fileList.shown : files;
    const at = order.indexOf(files[current]) + by;
    const next = files.indexOf(order[(at + order.length) % order.length]);
    history.replaceState(null, "", address(next));
    show(next);
  };
  dialog.onclose = () => {
    // Unless another file is being opened meanwhile.
    if (location.hash.replace(/:[\d.]+$/, "") === address(current)) history.replaceState(null, "", location.pathname + location.search);
  };
  byId("close").onclick = () => dialog.close();
  byId("previous").onclick = () => step(-1);
  byId("next").onclick = () => step(1);
  [dialog, ruleDialog].forEach((one) => {
    one.onclick = (event) => { if (event.target === one) one.close(); };
  });
  window.onhashchange = route;

  filterFiles();
  filter();
  route();
})();
