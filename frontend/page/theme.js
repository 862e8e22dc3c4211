// Applies the stored theme before the first paint, so that the page does not flash in another theme.
try {
  const theme = localStorage.getItem("drover-theme");
  if (["light", "dark", "contrast"].includes(theme)) document.documentElement.dataset.theme = theme;
} catch {
  // Without access to the storage, the page uses the theme of the system.
}
