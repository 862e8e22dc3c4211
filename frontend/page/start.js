import start from "{{script}}";

start({ module_or_path: "{{program}}" }).catch((error) => {
  console.error(error);
  document.getElementById("starting-text").textContent =
    "The page could not be started. Reload it; if that does not help, use a newer browser (it needs WebAssembly).";
});
