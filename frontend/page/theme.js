// Runs before anything is painted, so that a chosen theme does not come with a flash of another.
try {
  const theme = localStorage.getItem("drover-theme");
  if (["light", "dark", "contrast"].includes(theme)) document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing: the system's theme it is.
}
