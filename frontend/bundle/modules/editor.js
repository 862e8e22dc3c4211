// The YAML editor: CodeMirror 6 in a shadow root.
//
// In a document, CodeMirror adds <style> elements, which the content security policy forbids. In a
// shadow root, it uses adopted style sheets, which the policy allows (ADR 24).
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, bracketMatching, foldGutter, foldKeymap, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { completions, descriptionAt, lineOfField, schemaOf } from "./schema.js";

// The colors are tokens of the page (style/tokens.css), which the shadow root inherits.
const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "var(--body)" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { color: "var(--ink-soft)", backgroundColor: "var(--sunken)", borderRight: "var(--border) solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--chosen)",
  },
  ".cm-searchMatch": { backgroundColor: "var(--mark)" },
  ".cm-tooltip": {
    maxWidth: "60ch",
    color: "var(--ink)",
    backgroundColor: "var(--raised)",
    border: "var(--border) solid var(--line)",
    borderRadius: "var(--radius)",
    whiteSpace: "pre-wrap",
  },
  ".cm-tooltip-hover": { padding: "var(--s2)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--ink)", backgroundColor: "var(--chosen)" },
  ".cm-panels": { color: "var(--ink)", backgroundColor: "var(--sunken)" },
  ".cm-textfield": { color: "var(--ink)", backgroundColor: "var(--surface)", border: "var(--border) solid var(--line-strong)" },
  ".cm-button": { color: "var(--ink)", backgroundColor: "var(--raised)", backgroundImage: "none", border: "var(--border) solid var(--line-strong)" },
  ".cm-foldPlaceholder": { color: "var(--ink-soft)", backgroundColor: "var(--sunken)", border: "var(--border) solid var(--line)" },
  // The content security policy forbids the images of the lint package, which are data URLs.
  ".cm-lint-marker-error": { content: '"●"', color: "var(--bad)" },
  ".cm-lint-marker-warning, .cm-lint-marker-info": { content: '"●"', color: "var(--warning)" },
  ".cm-lintRange-error, .cm-lintRange-warning, .cm-lintRange-info, .cm-lintRange-hint": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
  },
  ".cm-diagnostic": { borderLeft: "3px solid var(--bad)" },
  ".cm-matchingBracket": { backgroundColor: "var(--chosen) !important" },
});

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--busy)" },
  { tag: [tags.comment, tags.meta], color: "var(--ink-soft)" },
  { tag: [tags.labelName, tags.typeName], color: "var(--warning)" },
]);

// Opens an editor in an element. `report` is called after each change with the text.
export function open(host, text, label, report) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  root.replaceChildren();
  const parent = document.createElement("div");
  parent.style.height = "100%";
  root.append(parent);
  // The page must not react to keys that the editor has handled.
  parent.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) event.stopPropagation();
  });
  let schema = null;
  const view = new EditorView({
    root,
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        highlightActiveLineGutter(),
        highlightSpecialChars(),
        history(),
        foldGutter(),
        drawSelection(),
        indentUnit.of("  "),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ override: [(context) => completions(context, schema)] }),
        hoverTooltip((view, position) => tooltip(view, position, schema)),
        highlightActiveLine(),
        highlightSelectionMatches(),
        lintGutter(),
        yaml(),
        syntaxHighlighting(colors),
        theme,
        // The key Tab moves the focus, so that keyboard users can leave the editor.
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, ...lintKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) report(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    focus: () => view.focus(),
    dispose: () => view.destroy(),
    setText: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    // Sets the schema: lines with the group, the version and the kind, and the cluster's OpenAPI v3 document.
    setSchema: (text) => {
      const [group, version, kind] = text.split("\n", 3);
      schema = schemaOf(JSON.parse(text.slice(group.length + version.length + kind.length + 3)), group, version, kind);
    },
    // Marks the lines of errors: a JSON array of objects with `message`, and `field` or `line`.
    setErrors: (text) => view.dispatch(setDiagnostics(view.state, JSON.parse(text).map((error) => diagnostic(view.state, error)))),
  };
}

function diagnostic(state, { field, line, message }) {
  const number = line ?? (field === undefined ? 1 : lineOfField(state.doc, field));
  const { from, to } = state.doc.line(Math.min(Math.max(number, 1), state.doc.lines));
  return { from, to, severity: "error", message };
}

function tooltip(view, position, schema) {
  const description = descriptionAt(view.state.doc, position, schema);
  if (description === null) return null;
  const create = () => {
    const dom = document.createElement("div");
    dom.textContent = description;
    return { dom };
  };
  return { pos: position, above: true, create };
}
