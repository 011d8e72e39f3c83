// Ways to take parts of the report along: figures as SVG, PNG and CSV, tables as Markdown and TSV, the summary as text.
"use strict";

// A table whose last rows are folded has a second part with the head repeated.
const rowsOf = (table) => [
  ...table.tHead.rows,
  ...[...(table.closest(".numbered-table") ?? table.parentElement).querySelectorAll("tbody")].flatMap((body) => [...body.rows]),
];
const cells = (table) =>
  rowsOf(table).map((row) => [...row.cells].map((cell) => cell.textContent.trim().replace(/\s+/g, " ")));

// A spreadsheet takes a cell that begins so for a formula; a number with a sign, an interval and a unit is none.
const harmless = (cell) =>
  /^[=+@\t\r-]/.test(cell) && !/^[-+][\d.,]+( [\d.,\u2212[\] ]*[\wµ%/]*)?$/.test(cell) ? `'${cell}` : cell;

const asMarkdown = (table) => {
  const [head, ...rows] = cells(table).map((row) => row.map((cell) => cell.replace(/[\\|]/g, "\\$&")));
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
};

const asTsv = (table) => cells(table).map((row) => row.map(harmless).join("\t")).join("\n");

const asCsv = (table) =>
  cells(table).map((row) => row.map((cell) => `"${harmless(cell).replace(/"/g, '""')}"`).join(",")).join("\r\n");

// What a button did, for those who hear the page; it stands in the page before anything is said.
const heard = document.body.appendChild(document.createElement("p"));
heard.className = "hidden";
heard.setAttribute("role", "status");
heard.setAttribute("aria-live", "polite");
let silence = 0;
const announce = (text) => {
  // The same words again would not be read out.
  heard.textContent = "";
  clearTimeout(silence);
  silence = setTimeout(() => (heard.textContent = text), 50);
};

const copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.body.appendChild(document.createElement("textarea"));
    area.value = text;
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
};

const save = (name, content, type) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

const drawing = (figure) => {
  const svg = figure.querySelector(".static svg").cloneNode(true);
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  // Fonts whose width is fitted go along: letters keep their places.
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  style.textContent = rules.filter((rule) => rule instanceof CSSFontFaceRule).map((rule) => rule.cssText).join("\n");
  svg.prepend(style);
  return new XMLSerializer().serializeToString(svg);
};

const savePng = (figure, name) => {
  const [, , width, height] = figure.querySelector(".static svg").getAttribute("viewBox").split(/[ ,]+/).map(Number);
  const image = new Image();
  const made = new Promise((done) => {
    image.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [2 * width, 2 * height];
      const context = canvas.getContext("2d");
      context.fillStyle = "white";
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => {
        if (blob) save(`${name}.png`, blob, "image/png");
        done(blob ? "Saved" : "Not saved");
      });
    };
    image.onerror = () => done("Not saved");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing(figure))}`;
  return made;
};

const copied = async (text) => ((await copy(text)) ? "Copied" : "Not copied");
const saved = (name, content, type) => {
  save(name, content, type);
  return "Saved";
};

const addTools = (after, label, actions) => {
  const tools = document.createElement("div");
  tools.className = "tools";
  for (const [text, act] of actions) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.setAttribute("aria-label", `${text}: ${label}`);
    button.addEventListener("click", async () => {
      const done = await act();
      announce(`${done}: ${text}, ${label}`);
      button.textContent = done;
      setTimeout(() => (button.textContent = text), 2000);
    });
    tools.append(button);
  }
  after.append(tools);
};

for (const figure of document.querySelectorAll("figure")) {
  const name = figure.dataset.name;
  const numbers = document.querySelector(`details[data-of="${figure.id}"] table`);
  addTools(figure, name.replace("-", " "), [
    ["SVG", () => saved(`${name}.svg`, drawing(figure), "image/svg+xml")],
    ["PNG", () => savePng(figure, name)],
    ...(numbers ? [["CSV", () => saved(`${name}.csv`, asCsv(numbers), "text/csv")]] : []),
  ]);
}
for (const block of document.querySelectorAll(".numbered-table")) {
  const table = block.querySelector("table");
  addTools(block, block.dataset.name.replace("-", " "), [
    ["Copy as Markdown", () => copied(asMarkdown(table))],
    ["Copy as TSV", () => copied(asTsv(table))],
  ]);
}
const header = document.querySelector("header");
const folds = [...document.querySelectorAll("details.fold")];
const foldAll = () => {
  const open = folds.some((fold) => !fold.open);
  for (const fold of folds) fold.open = open;
  return open ? "Opened" : "Closed";
};
addTools(header, "report", [
  ["Copy summary", () => copied(header.dataset.summary)],
  ["Open or close all", foldAll],
]);

// What is scrolled must be reached without a mouse.
const reachable = () => {
  // Parts in closed folds would be laid out for this; they are looked at when they are opened.
  const parts = [...document.querySelectorAll(".table, .picture, pre")].filter((part) => part.checkVisibility());
  // All are measured before any is changed, so that the page is laid out once.
  const scrolled = parts.map((part) => part.scrollWidth > part.clientWidth);
  parts.forEach((part, place) => {
    if (scrolled[place] !== part.hasAttribute("tabindex")) part.toggleAttribute("tabindex", scrolled[place]);
    if (scrolled[place]) part.tabIndex = 0;
  });
};
window.addEventListener("resize", reachable);
document.addEventListener("toggle", reachable, true);
// A link to a folded section, figure or table opens it.
const openTarget = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const within = target?.querySelector(":scope > details.fold");
  for (let part = within ?? target?.closest("details"); part; part = part.parentElement.closest("details")) {
    part.open = true;
  }
  target?.scrollIntoView();
};
window.addEventListener("hashchange", openTarget);
if (location.hash) openTarget();
reachable();
// The contents lie over the page: a link in them closes them.
const contents = document.querySelector("nav details");
contents.addEventListener("click", (event) => {
  if (event.target.closest("a")) contents.open = false;
});
