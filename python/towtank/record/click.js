(selector) => {
  const element = document.querySelector(selector);
  if (!element) return "does not exist";
  if (element.disabled) return "is disabled";
  element.scrollIntoView({ block: "center" });
  element.click();
  return "done";
}
