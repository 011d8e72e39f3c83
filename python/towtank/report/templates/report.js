// Replaces each drawn figure by its interactive view. A figure whose view fails keeps the drawing.
"use strict";
for (const figure of document.querySelectorAll("figure[data-live]")) {
  const specification = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
  // The interpreter (ast) needs no eval, so the page can forbid it; the loader refuses whatever would leave the page.
  const options = {
    actions: false,
    ast: true,
    renderer: "svg",
    loader: { load: () => Promise.reject(new Error("nothing is loaded by a report")) },
  };
  window
    .vegaEmbed(figure.querySelector(".live"), specification, options)
    .then(() => figure.classList.add("is-live"))
    .catch((error) => console.error("figure", figure.id, error));
}
