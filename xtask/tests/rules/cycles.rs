//! Checks that the top-level modules of each crate have no cycles.
//!
//! The rule reads tokens. A path that starts with `crate::`, or with enough `super::`, is a
//! reference to a top-level module. Names that the crate's root imports with `use` are also
//! references. Code that only tests compile may refer to any module.

use std::collections::{BTreeMap, BTreeSet};

use crate::tokens::{Located, Token, tokens};
use crate::{files, read};

/// Source files of a crate. The key is the path below `src` without the suffix `.rs`.
type Sources = BTreeMap<String, String>;

#[test]
fn modules_of_a_crate_have_no_cycles() {
    let crates = crates();
    for folder in ["server", "agent", "frontend/app", "crates/apiserver"] {
        assert!(crates.contains_key(folder), "{folder} is not found");
    }
    let mut found = Vec::new();
    for (folder, sources) in crates {
        let cycles = Graph::of(&sources).describe_cycles();
        if !cycles.is_empty() {
            found.push(format!("{folder}\n{cycles}"));
        }
    }
    assert!(
        found.is_empty(),
        "top-level modules refer to each other in cycles:\n{}",
        found.concat()
    );
}

/// Returns the sources of all crates, by the crate's folder.
fn crates() -> BTreeMap<String, Sources> {
    let mut found: BTreeMap<String, Sources> = BTreeMap::new();
    for file in files(".rs") {
        if let Some((folder, path)) = file.split_once("/src/") {
            let sources = found.entry(folder.to_owned()).or_default();
            sources.insert(path.trim_end_matches(".rs").to_owned(), read(&file));
        }
    }
    found
}

/// The references between a crate's top-level modules.
#[derive(Default)]
struct Graph {
    /// The modules that each module refers to, with the location of the first reference to each
    /// module.
    edges: BTreeMap<String, BTreeMap<String, String>>,
    /// Names that the crate's root imports, each with the module that contains the name.
    imported: BTreeMap<String, String>,
}

impl Graph {
    fn of(sources: &Sources) -> Self {
        let mut graph = Self::default();
        let roots = ["lib", "main"].map(|root| sources.get(root).map_or("", String::as_str));
        let roots = roots.map(|source| production(&tokens(source)));
        for root in &roots {
            let children = children(root).into_iter();
            graph
                .edges
                .extend(children.map(|name| (name, BTreeMap::new())));
        }
        for root in &roots {
            graph.import(root);
        }
        for name in graph.edges.keys().cloned().collect::<Vec<_>>() {
            graph.visit(sources, &[name]);
        }
        graph
    }

    /// Records the names that the `use` items of a root import from top-level modules.
    fn import(&mut self, root: &[Located]) {
        for (at, located) in root.iter().enumerate() {
            if located.token.is_word("use") {
                let mut leaves = Vec::new();
                use_leaves(root, at + 1, &mut Vec::new(), &mut leaves);
                for (path, name) in leaves {
                    let own = |part: &&String| *part == "crate" || *part == "self";
                    let first = path.iter().find(|part| !own(part));
                    if let Some(module) = first.filter(|first| self.edges.contains_key(*first)) {
                        self.imported.insert(name, module.clone());
                    }
                }
            }
        }
    }

    /// Records the references in the module's file and in the files below it.
    fn visit(&mut self, sources: &Sources, module: &[String]) {
        let path = module.join("/");
        let Some(source) = sources.get(&path) else {
            return;
        };
        let tokens = production(&tokens(source));
        for (line, name) in root_references(&tokens, module.len()) {
            let target = self.imported.get(&name).unwrap_or(&name).clone();
            if target != module[0] && self.edges.contains_key(&target) {
                let edges = self.edges.entry(module[0].clone()).or_default();
                edges
                    .entry(target)
                    .or_insert_with(|| format!("src/{path}.rs:{line}"));
            }
        }
        for child in children(&tokens) {
            self.visit(sources, &[module, &[child]].concat());
        }
    }

    /// Returns all modules that `start` refers to, directly or indirectly.
    fn reachable(&self, start: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut open = vec![start];
        while let Some(module) = open.pop() {
            for next in self.edges[module].keys() {
                if found.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        found
    }

    /// Returns one line per reference that is part of a cycle.
    fn describe_cycles(&self) -> String {
        let mut lines = Vec::new();
        for (from, edges) in &self.edges {
            for (to, place) in edges {
                if self.reachable(to).contains(from.as_str()) {
                    lines.push(format!("  {from} → {to} ({place})\n"));
                }
            }
        }
        lines.concat()
    }
}

/// Returns the names of the modules that a file declares (`mod name;`).
fn children(tokens: &[Located]) -> Vec<String> {
    let mut found = Vec::new();
    for window in tokens.windows(3) {
        if let [
            keyword,
            Located {
                token: Token::Word(name),
                ..
            },
            end,
        ] = window
            && keyword.token.is_word("mod")
            && end.token.is_mark(';')
        {
            found.push(name.clone());
        }
    }
    found
}

/// Returns the tokens of code that is compiled without tests.
fn production(tokens: &[Located]) -> Vec<Located> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if is_attribute(tokens, at) {
            let end = group_end(tokens, at + 1);
            if is_for_tests(&tokens[at + 2..end]) {
                at = item_end(tokens, end);
                continue;
            }
        }
        kept.push(tokens[at].clone());
        at += 1;
    }
    kept
}

/// Reports whether the content of an attribute is `cfg(test)` or `cfg(all(test, …))`.
fn is_for_tests(attribute: &[Located]) -> bool {
    let has = |word| attribute.iter().any(|located| located.token.is_word(word));
    attribute
        .first()
        .is_some_and(|first| first.token.is_word("cfg"))
        && has("test")
        && !has("any")
        && !has("not")
}

fn is_mark(tokens: &[Located], at: usize, mark: char) -> bool {
    tokens
        .get(at)
        .is_some_and(|located| located.token.is_mark(mark))
}

fn is_path_separator(tokens: &[Located], at: usize) -> bool {
    is_mark(tokens, at, ':') && is_mark(tokens, at + 1, ':')
}

fn is_attribute(tokens: &[Located], at: usize) -> bool {
    is_mark(tokens, at, '#') && is_mark(tokens, at + 1, '[')
}

/// Returns the index after the bracket that closes the bracket at `open`.
fn group_end(tokens: &[Located], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, located) in tokens.iter().enumerate().skip(open) {
        match located.token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Returns the index after the item, field or statement that starts at `at`.
fn item_end(tokens: &[Located], mut at: usize) -> usize {
    const ITEMS: [&str; 11] = [
        "async", "const", "enum", "fn", "impl", "mod", "pub", "static", "struct", "type", "use",
    ];
    while is_attribute(tokens, at) {
        at = group_end(tokens, at + 1);
    }
    let is_item = ITEMS.iter().any(|word| {
        tokens
            .get(at)
            .is_some_and(|first| first.token.is_word(word))
    });
    while at < tokens.len() {
        match tokens[at].token {
            Token::Mark(';') => return at + 1,
            Token::Mark(',') if !is_item => return at + 1,
            Token::Mark(')' | ']' | '}') => return at,
            Token::Mark('{') => {
                let end = group_end(tokens, at);
                // `use a::{b, c};` and `const A: B = B { c };` continue after the bracket.
                return end + usize::from(is_mark(tokens, end, ';'));
            }
            Token::Mark('(' | '[') => at = group_end(tokens, at),
            _ => at += 1,
        }
    }
    at
}

/// Returns the first segment of each path that starts in the crate's root, with its line. The
/// file's module is `depth` levels below the root.
fn root_references(tokens: &[Located], depth: usize) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    // Ends of the inline modules around the current index.
    let mut inline: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        inline.retain(|end| at < *end);
        let token = &tokens[at].token;
        if token.is_word("mod") && is_mark(tokens, at + 2, '{') {
            inline.push(group_end(tokens, at + 2));
            at += 3;
        } else if token.is_word("crate") && is_path_separator(tokens, at + 1) {
            found.extend(first_names(tokens, at + 3));
            at += 3;
        } else if token.is_word("super") && is_path_separator(tokens, at + 1) {
            let mut levels = 0;
            while tokens
                .get(at)
                .is_some_and(|next| next.token.is_word("super"))
            {
                levels += 1;
                at += 3;
            }
            if levels == depth + inline.len() {
                found.extend(first_names(tokens, at));
            }
        } else {
            at += 1;
        }
    }
    found
}

/// Returns the next segment of a path. For a group, returns the first segment of each path in the
/// group.
fn first_names(tokens: &[Located], at: usize) -> Vec<(usize, String)> {
    if !is_mark(tokens, at, '{') {
        let name = tokens.get(at).and_then(name_of);
        return name.into_iter().collect();
    }
    let end = group_end(tokens, at) - 1;
    let mut found = Vec::new();
    let mut next = at + 1;
    while next < end {
        found.extend(name_of(&tokens[next]));
        while next < end && !is_mark(tokens, next, ',') {
            let is_group = is_mark(tokens, next, '{');
            next = if is_group {
                group_end(tokens, next)
            } else {
                next + 1
            };
        }
        next += 1;
    }
    found
}

fn name_of(located: &Located) -> Option<(usize, String)> {
    match &located.token {
        Token::Word(name) => Some((located.line, name.clone())),
        _ => None,
    }
}

/// Collects the leaves of the `use` tree at `at`, each with the full path and the local name.
/// Returns the index after the tree.
fn use_leaves(
    tokens: &[Located],
    mut at: usize,
    prefix: &mut Vec<String>,
    leaves: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let length = prefix.len();
    while let Some((_, name)) = tokens.get(at).and_then(name_of) {
        prefix.push(name);
        at += 1;
        if !is_path_separator(tokens, at) {
            break;
        }
        at += 2;
    }
    if is_mark(tokens, at, '{') {
        let end = group_end(tokens, at);
        at += 1;
        while at + 1 < end {
            at = use_leaves(tokens, at, prefix, leaves);
            at += usize::from(is_mark(tokens, at, ','));
        }
        at = end;
    } else if is_mark(tokens, at, '*') {
        at += 1;
    } else {
        let mut name = prefix.last().cloned();
        if tokens.get(at).is_some_and(|next| next.token.is_word("as")) {
            name = tokens.get(at + 1).and_then(name_of).map(|(_, name)| name);
            at += 2;
        }
        leaves.extend(name.map(|name| (prefix.clone(), name)));
        if at < tokens.len() && !is_mark(tokens, at, ',') && !is_mark(tokens, at, '}') {
            at += usize::from(!is_mark(tokens, at, ';'));
        }
    }
    prefix.truncate(length);
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(sources: &[(&str, &str)]) -> String {
        let sources = sources
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Graph::of(&sources.collect()).describe_cycles()
    }

    const ROOT: (&str, &str) = (
        "lib",
        "pub mod a;\nmod b;\nmod c;\npub use a::{X, y::{Z as W}};\nuse c::C;",
    );

    #[test]
    fn references_in_one_direction_form_no_cycle() {
        let a = ("a", "use crate::b::B;\nuse crate::{c::C};");
        let b = ("b", "use super::c;");
        assert_eq!(cycles(&[ROOT, a, b, ("c", "")]), "");
    }

    #[test]
    fn cycle_of_three_modules_is_found_through_groups_and_super() {
        let a = ("a", "mod deep;");
        let deep = ("a/deep", "use super::super::{b::{self, B}, d};");
        let b = ("b", "fn f() { crate::c::f() }");
        let c = ("c", "\nuse crate::{\n    other::O,\n    a::A,\n};");
        let found = cycles(&[ROOT, a, deep, b, c]);
        assert_eq!(
            found,
            "  a → b (src/a/deep.rs:1)\n  b → c (src/b.rs:1)\n  c → a (src/c.rs:4)\n"
        );
    }

    #[test]
    fn name_reexported_by_the_crate_root_refers_to_its_module() {
        let a = ("a", "use crate::C;");
        let c = ("c", "fn f(_: crate::W) {}");
        assert_eq!(cycles(&[ROOT, a, ("b", ""), c]).lines().count(), 2);
    }

    #[test]
    fn super_inside_a_top_level_module_is_not_a_reference() {
        let a = ("a", "mod b;\nmod inner { use super::b::B; }");
        let child = ("a/b", "use super::c;");
        let b = ("b", "use crate::a::A;");
        let c = ("c", "use crate::a::A;");
        assert_eq!(cycles(&[ROOT, a, child, b, c]), "");
    }

    #[test]
    fn test_code_can_refer_to_any_module() {
        let a = (
            "a",
            "#[cfg(test)]\nmod tests;\n#[cfg(test)]\n#[expect(x)]\nuse crate::{b::B};\n\
             struct S { #[cfg(test)] b: crate::b::B, c: u8 }\n\
             #[cfg(all(test, unix))]\nfn f<A, B>() { crate::b::f() }",
        );
        let tests = ("a/tests", "use crate::b::B;");
        let b = ("b", "use crate::a::A;");
        assert_eq!(cycles(&[ROOT, a, tests, b, ("c", "")]), "");
    }

    #[test]
    fn reference_in_feature_gated_code_is_included() {
        let a = ("a", "#[cfg(any(test, feature = \"x\"))]\nuse crate::b::B;");
        let b = ("b", "use crate::a::A;");
        assert_ne!(cycles(&[ROOT, a, b, ("c", "")]), "");
    }
}
