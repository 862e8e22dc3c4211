// Completion and descriptions of fields from the OpenAPI v3 document of a cluster.
//
// The functions find the path of a field by the indentation of the lines above, because a text that
// the user is editing often is no valid YAML.

const FIELD = /^(\s*)((?:- +)*)("?)([A-Za-z0-9_./-]*)\3\s*(:?)/;
const MAX_DEPTH = 40;

// Returns the indentation of a field, with the indentation of list markers, and its name.
function parse(line) {
  const [, indentation, markers, , name, colon] = FIELD.exec(line);
  return { start: indentation.length, indentation: indentation.length + markers.length, isItem: markers !== "", name, isField: colon === ":" };
}

// Returns the names of the fields above a line that enclose an indentation, and the number of the
// first line of the document.
function path(doc, number, indentation, isItem) {
  const names = [];
  let limit = indentation;
  // Items of a list can have the indentation of the field that contains the list.
  let sameLevel = isItem;
  for (let at = number - 1; at >= 1 && limit > 0; at -= 1) {
    const text = doc.line(at).text;
    if (/^---/.test(text)) break;
    if (/^\s*(#|$)/.test(text)) continue;
    const line = parse(text);
    if (line.isItem && line.start < limit && line.indentation >= limit) {
      limit = line.start;
      sameLevel = true;
      continue;
    }
    const encloses = line.indentation < limit || (sameLevel && !line.isItem && line.indentation === limit);
    if (!line.isField || !encloses) continue;
    names.unshift(line.name);
    limit = line.isItem ? line.start : line.indentation;
    sameLevel = line.isItem;
  }
  return names;
}

function pathAt(doc, number) {
  const line = parse(doc.line(number).text);
  const parents = path(doc, number, line.isItem ? line.start : line.indentation, line.isItem);
  return { line, parents };
}

// Returns the schema of a kind, or null if the OpenAPI document does not contain the kind.
export function schemaOf(document, group, version, kind) {
  const components = document.components?.schemas ?? {};
  const isKind = (it) => it.group === group && it.version === version && it.kind === kind;
  const root = Object.values(components).find((schema) => schema["x-kubernetes-group-version-kind"]?.some(isKind));
  return root === undefined ? null : { root, components };
}

// Resolves references and lists. `schema` has the fields `root` (a schema) and `components`.
function resolve(schema, node) {
  let current = node;
  for (let depth = 0; current && depth < MAX_DEPTH; depth += 1) {
    if (current.$ref) current = schema.components[current.$ref.split("/").at(-1)];
    else if (current.allOf?.length === 1) current = current.allOf[0];
    else if (current.items) current = current.items;
    else return current;
  }
  return null;
}

function at(schema, names) {
  let node = resolve(schema, schema.root);
  for (const name of names) {
    const next = node?.properties?.[name] ?? node?.additionalProperties;
    node = typeof next === "object" ? resolve(schema, next) : null;
  }
  return node;
}

function type(schema, property) {
  if (property.type === "array") return "list";
  const resolved = resolve(schema, property);
  return property.type ?? resolved?.type ?? "";
}

export function completions(context, schema) {
  if (schema === null) return null;
  const { doc } = context.state;
  const { number, from, text } = doc.lineAt(context.pos);
  const before = text.slice(0, context.pos - from);
  const word = /[A-Za-z0-9_./-]*$/.exec(before)[0];
  if (before.includes(": ") || (word === "" && !context.explicit)) return null;
  const { parents } = pathAt(doc, number);
  const properties = at(schema, parents)?.properties;
  if (properties === undefined) return null;
  const options = Object.entries(properties).map(([label, property]) => ({
    label,
    type: "property",
    detail: type(schema, property),
    info: property.description,
    apply: text.slice(context.pos - from).startsWith(":") ? label : `${label}: `,
  }));
  return { from: context.pos - word.length, options, validFor: /^[A-Za-z0-9_./-]*$/ };
}

export function descriptionAt(doc, position, schema) {
  if (schema === null) return null;
  const { number, from, text } = doc.lineAt(position);
  const { line, parents } = pathAt(doc, number);
  if (!line.isField || position - from > text.indexOf(":")) return null;
  const property = at(schema, parents)?.properties?.[line.name];
  if (property === undefined) return null;
  const description = property.description ?? resolve(schema, property)?.description ?? "";
  return `${line.name}: ${type(schema, property)}\n${description}`;
}

// Returns the number of the line of a field path of an API error: `spec.containers[0].image`.
export function lineOfField(doc, field) {
  const wanted = field.replace(/\[([^\]]*)\]/g, ".$1").split(".").filter((part) => part !== "");
  let best = { line: 1, length: 0 };
  const stack = [];
  for (let number = 1; number <= doc.lines; number += 1) {
    const text = doc.line(number).text;
    if (/^\s*(#|$)/.test(text)) continue;
    const line = parse(text);
    if (line.isItem) {
      while (stack.length > 0 && (stack.at(-1).at > line.start || (stack.at(-1).at === line.start && stack.at(-1).index !== undefined))) {
        const last = stack.pop();
        if (last.index !== undefined && last.at === line.start) {
          stack.push({ at: line.start, name: String(last.index + 1), index: last.index + 1 });
          break;
        }
      }
      if (stack.at(-1)?.at !== line.start || stack.at(-1)?.index === undefined) stack.push({ at: line.start, name: "0", index: 0 });
    } else {
      while (stack.length > 0 && stack.at(-1).at >= line.indentation) stack.pop();
    }
    if (!line.isField) continue;
    stack.push({ at: line.indentation, name: line.name });
    const names = stack.map((entry) => entry.name);
    const length = names.findIndex((name, index) => name !== wanted[index]);
    const common = length === -1 ? names.length : 0;
    if (common > best.length && common <= wanted.length) best = { line: number, length: common };
  }
  return best.line;
}
