// Replaces each drawn figure by its interactive view when the reader comes near it: a page is interactive before all of
// its views are made, and those in folded parts are made when these are opened. One that fails keeps the drawing.
"use strict";
// The interpreter (ast) needs no eval, so the page can forbid it; the loader refuses whatever would leave the page.
// Only errors are logged (1): a layer without a mark, such as that of suspect runs where none is, is none.
const options = {
  actions: false,
  ast: true,
  logLevel: 1,
  renderer: "svg",
  loader: { load: () => Promise.reject(new Error("nothing is loaded by a report")) },
};
// Texts are measured before they are drawn: the fonts must be there, also those whose width is fitted.
const ready = (font) =>
  Promise.allSettled(["", "bold "].map((weight) => document.fonts.load(`${weight}12px ${font}`)));
// On a phone, the figure of the first screen is as wide as the screen and lower, and its texts keep their size.
const PHONE = "(max-width: 40rem)", AXES_PX = 116, NAMES_PX = 190, LOWER = 0.42, ROW_PX = 12;
const specified = (figure) => {
  const text = figure.querySelector('script[type="application/json"]').textContent;
  if (!figure.closest(".front") || !window.matchMedia(PHONE).matches) return JSON.parse(text);
  const columns = (key, value) => (key === "columns" ? Math.max(1, Math.floor(LOWER * value)) : value);
  const specification = JSON.parse(text, columns);
  for (const panel of specification.vconcat ?? [specification]) {
    const hasRows = typeof panel.height !== "number", beside = hasRows ? NAMES_PX : AXES_PX;
    const width = Math.max(160, figure.querySelector(".picture").clientWidth - beside);
    if (typeof panel.width === "number") panel.width = Math.min(panel.width, width);
    panel.height = hasRows ? { step: ROW_PX } : Math.round(LOWER * panel.height);
  }
  return specification;
};
const enliven = (figure) => {
  const specification = specified(figure);
  ready(specification.config.font)
    .then(() => window.vegaEmbed(figure.querySelector(".live"), specification, options))
    .then(() => figure.classList.add("is-live"))
    .catch((error) => console.error("figure", figure.id, error));
};
const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        near.unobserve(target);
        enliven(target);
      }
    }
  },
  { rootMargin: "50% 0%" },
);
for (const figure of document.querySelectorAll("figure[data-live]")) near.observe(figure);
