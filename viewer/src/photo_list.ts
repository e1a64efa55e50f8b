// SPDX-License-Identifier: Apache-2.0
// The list of the scene's photos, with a search.
import { choice } from "./choice";
import { el } from "./dom";
import type { Frusta } from "./frusta";
import type { Keys } from "./keys";
import type { PhotoTour } from "./photo_tour";
import type { ViewInfo } from "./protocol";

const kKinds = ["All", "Training", "Held out"] as const;

export function fillPhotoList(place: HTMLElement, views: ViewInfo[], tour: PhotoTour, frusta: Frusta, keys: Keys): void {
  const search = el("input", { type: "search", placeholder: "Search photos", "aria-label": "Search photos" });
  const count = el("output", { class: "hint", "aria-label": "Photos listed" });
  const items = views.map((view, i) =>
    el("li", {},
      el("button", { type: "button", onclick: () => tour.look(i) },
        el("span", { class: "name" }, view.name), view.is_test ? el("span", { class: "badge test" }, "held out") : null)));
  let kind: (typeof kKinds)[number] = "All";
  const filter = () => {
    const text = search.value.trim().toLowerCase();
    let shown = 0;
    views.forEach((view, i) => {
      const isKind = kind === "All" || view.is_test === (kind === "Held out");
      items[i].hidden = !isKind || !view.name.toLowerCase().includes(text);
      if (!items[i].hidden) ++shown;
    });
    count.textContent = shown === 1 ? "1 photo" : `${shown} photos`;
  };
  search.addEventListener("input", filter);

  const box = el("input", { type: "checkbox" });
  const show = (isShown: boolean) => {
    box.checked = isShown;
    frusta.show(isShown);
  };
  box.addEventListener("change", () => show(box.checked));
  keys.add({ keys: ["c"], group: "Photos", text: "Show or hide the cameras", run: () => show(!box.checked) });

  const kinds = choice("Kind of photos", kKinds, "All", (value) => {
    kind = value;
    filter();
  });
  const legend = el("span", { class: "legend" },
    el("span", { class: "key training" }, "training"), el("span", { class: "key test" }, "held out"));
  place.append(
    el("label", { class: "check" }, box, "Show cameras", legend),
    search,
    ...(views.some((view) => view.is_test) ? [kinds.element] : []),
    count, el("ul", { class: "photos", "aria-label": "Photos" }, ...items));
  filter();
  tour.onChange((index) => {
    items.forEach((item, i) => item.firstElementChild!.setAttribute("aria-current", String(i === index)));
    if (index >= 0) items[index].scrollIntoView({ block: "nearest" });
  });
}
