(selector, value) => {
  const element = document.querySelector(selector);
  if (!element) return "does not exist";
  if (element.disabled) return "is disabled";
  element.scrollIntoView({ block: "center" });
  element.focus();
  if (element.type === "checkbox" || element.type === "radio") {
    if (element.checked !== (value === "true")) element.click();
    return "done";
  }
  if (element.tagName === "SELECT") {
    const option = [...element.options].find((each) => each.value === value || each.text === value);
    if (!option) return "has no such option";
    option.selected = true;
  } else if (element.isContentEditable) {
    element.textContent = value;
  } else if ("value" in element && element.type !== "file") {
    // Frameworks watch the property of the element itself: they hear of the change from the event only.
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), "value").set.call(element, value);
  } else {
    return "is no field";
  }
  element.dispatchEvent(new Event("input", { bubbles: true }));
  element.dispatchEvent(new Event("change", { bubbles: true }));
  return "done";
}
