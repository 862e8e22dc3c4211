// Applies the stored theme, row height and language before the first paint, so that the page does not flash.
let language = null;
try {
  const theme = localStorage.getItem("drover-theme");
  if (["light", "dark", "contrast"].includes(theme)) document.documentElement.dataset.theme = theme;
  const density = localStorage.getItem("drover-density");
  if (["compact", "spacious"].includes(density)) document.documentElement.dataset.density = density;
  language = localStorage.getItem("drover-language");
} catch {
  // Without access to the storage, the page uses the theme of the system and the language of the browser.
}
// The program reads the attribute. The default is English.
const isKnown = (tag) => ["de", "en"].includes(tag);
const preferred = navigator.languages.map((tag) => tag.split("-")[0].toLowerCase());
document.documentElement.lang = isKnown(language) ? language : (preferred.find(isKnown) ?? "en");
