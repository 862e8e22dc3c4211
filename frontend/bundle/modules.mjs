// modules.mjs ENTRY: writes the bundled JavaScript module of an entry file to standard output.
import { build } from "esbuild";
import { readFile } from "node:fs/promises";

// The content security policy forbids <style> elements and style attributes. The replaced code of
// xterm.js uses adopted style sheets and the CSSOM, which the policy allows (ADR 23).
const XTERM = [
  ['createElement("style")', 'createElement("drover-style")', 3],
  ['t.setAttribute("style",`${t.getAttribute("style")||""}${e};`)', "t.style.cssText+=e", 1],
];

const styles = {
  name: "styles",
  setup(build) {
    build.onLoad({ filter: /@xterm[/\\]xterm[/\\]lib[/\\]xterm\.mjs$/ }, async ({ path }) => {
      let contents = await readFile(path, "utf8");
      for (const [before, after, count] of XTERM) {
        const parts = contents.split(before);
        if (parts.length !== count + 1) throw new Error(`xterm.js contains ${before} ${parts.length - 1} times, not ${count} times`);
        contents = parts.join(after);
      }
      return { contents, loader: "js" };
    });
  },
};

const result = await build({
  entryPoints: [process.argv[2]],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  plugins: [styles],
  write: false,
});
process.stdout.write(result.outputFiles[0].contents);
