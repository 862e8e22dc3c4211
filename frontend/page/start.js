import start from "{{script}}";

start({ module_or_path: "{{program}}" }).catch((error) => {
  console.error(error);
  document.getElementById("starting-text").textContent =
    "Cannot start the page. Reload it. If the error remains, use a browser with WebAssembly.";
});
