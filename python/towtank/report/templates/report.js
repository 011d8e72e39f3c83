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
const enliven = (figure) => {
  const specification = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
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
