//! Checks that views use text from the message catalogue (frontend/core/src/messages).

use crate::{files, read};

/// Path of the page with the UI's components, for developers. The text of the page is not
/// translated.
const FOR_DEVELOPERS: &str = "frontend/app/src/screens/kit";

/// Names that are equal in every language: the product's name, and a key of the keyboard.
const NAMES: &[&str] = &["Drover", "K"];

/// Calls whose argument is not visible to users.
const NOT_READ: &[&str] = &["env!(", ".expect(", ".get(", "of(", "of_field("];

/// Terms of browsers, HTTP and Kubernetes that are not translated.
const TERMS: &[&str] = &[
    "Accept", "Cluster", "End", "Enter", "Escape", "False", "Home", "Mac", "Node", "Project",
    "True",
];

/// Prefixes of commands and user names that are equal in every language.
const COMMANDS: &[&str] = &["drover ", "drover:", "kubectl ", "export "];

/// Attributes and properties whose values are not visible to users.
const TECHNICAL: &[&str] = &[
    "accept",
    "autocapitalize",
    "autocomplete",
    "class",
    "closedby",
    "cx",
    "cy",
    "d",
    "data-theme",
    "datetime",
    "dir",
    "fields",
    "fill",
    "focusable",
    "for",
    "height",
    "href",
    "id",
    "key",
    "method",
    "name",
    "path",
    "points",
    "popover",
    "popovertarget",
    "r",
    "rel",
    "role",
    "rows",
    "rx",
    "ry",
    "scope",
    "spellcheck",
    "stroke",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-width",
    "tabindex",
    "target",
    "transform",
    "translate",
    "type",
    "value",
    "viewBox",
    "width",
    "wrap",
    "x",
    "y",
];

/// ARIA attributes whose values screen readers speak. Other ARIA attributes contain states and IDs.
const SPOKEN: &[&str] = &[
    "aria-description",
    "aria-label",
    "aria-roledescription",
    "aria-valuetext",
];

/// The position of a string literal in the syntax of the source file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Position {
    /// The literal is outside of `view!`, or in a handler.
    Code,
    /// The literal is a text node of `view!`, or a part of an expression that creates a text node.
    Text,
    /// The literal is the value of the attribute or property with this name, or a part of the
    /// value.
    Attribute(String),
}

#[derive(Debug, PartialEq, Eq)]
struct Literal {
    line: usize,
    place: Position,
    text: String,
}

impl Literal {
    /// Reports whether the literal is visible to users.
    fn is_text(&self) -> bool {
        let command = COMMANDS
            .iter()
            .any(|it| self.text.trim_start().starts_with(it));
        if command || NAMES.contains(&self.text.as_str()) {
            return false;
        }
        let text = placeholders_removed(&self.text).replace("\\n", " ");
        let has_letters = text.contains(char::is_alphabetic);
        match &self.place {
            Position::Code => is_sentence(&self.text) || is_label(&self.text),
            Position::Text => has_letters,
            Position::Attribute(name) => has_letters && is_spoken(name),
        }
    }
}

fn is_spoken(attribute: &str) -> bool {
    if attribute.starts_with("aria-") {
        return SPOKEN.contains(&attribute);
    }
    let is_directive = attribute.contains(':');
    !is_directive && !TECHNICAL.contains(&attribute)
}

/// Removes the placeholders `{}` and `{name}` from the text.
fn placeholders_removed(text: &str) -> String {
    let mut depth = 0_usize;
    let outside = text.chars().filter(|letter| {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && *letter != '}'
    });
    outside.collect()
}

/// Reports whether the text is one word in the style of labels and buttons.
fn is_label(text: &str) -> bool {
    let text = text.trim_end_matches('…');
    let rest = text.strip_prefix(char::is_uppercase).unwrap_or_default();
    let is_word = !rest.is_empty() && rest.chars().all(char::is_lowercase);
    is_word && !TERMS.contains(&text)
}

/// Words that occur in sentences, but not in lists of CSS classes.
const FUNCTION_WORDS: &[&str] = &[
    "a", "and", "are", "as", "be", "by", "for", "from", "has", "in", "is", "it", "no", "not", "of",
    "on", "or", "the", "to", "was", "with",
];

/// Reports whether the text reads like a sentence: at least two words, and a typical first, last or
/// inner word.
fn is_sentence(text: &str) -> bool {
    let mut letters = text.chars();
    let capital = letters.next().is_some_and(char::is_uppercase)
        && letters
            .next()
            .is_some_and(|it| it.is_lowercase() || it == ' ');
    let ended = text.ends_with(['.', '…', '?', '!']);
    let words = text
        .split([' ', ','])
        .filter(|word| word.contains(char::is_alphabetic));
    let linked = words.clone().any(|word| FUNCTION_WORDS.contains(&word));
    words.count() > 1 && (capital || ended || linked)
}

/// A scanner for string literals. The scanner parses only the Rust syntax that affects string
/// literals.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
    found: Vec<Literal>,
}

impl<'a> Scanner<'a> {
    fn literals(text: &'a str) -> Vec<Literal> {
        let mut scanner = Self {
            text,
            at: 0,
            found: Vec::new(),
        };
        while scanner.at < text.len() {
            scanner.code(&Position::Code, |_| false);
            scanner.at += 1;
        }
        scanner.found
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn starts(&self, with: &str) -> bool {
        self.rest().starts_with(with)
    }

    fn next(&mut self) {
        self.at += self.rest().chars().next().map_or(1, char::len_utf8);
    }

    /// Scans code up to its closing bracket, or until `ends` returns true outside brackets.
    fn code(&mut self, place: &Position, ends: fn(&Self) -> bool) {
        let mut depth = 0_usize;
        while let Some(letter) = self.rest().chars().next() {
            if depth == 0 && ends(self) {
                return;
            }
            match letter {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' if depth == 0 => return,
                ')' | ']' | '}' => depth -= 1,
                '#' if self.starts("#[") || self.starts("#![") => {
                    // Skip an attribute, because attributes contain lints and their reasons.
                    self.at += self.rest().find('[').unwrap_or_default() + 1;
                    let known = self.found.len();
                    self.code(&Position::Code, |_| false);
                    self.found.truncate(known);
                }
                'v' if self.starts("view! {") => {
                    self.at += "view! {".len();
                    self.nodes();
                }
                _ if self.skip(place) => continue,
                _ => {}
            }
            self.next();
        }
    }

    /// Skips a comment, a character literal or a string literal. Records string literals. Returns
    /// true if the scanner skipped text.
    fn skip(&mut self, place: &Position) -> bool {
        let rest = self.rest();
        let raw = rest.starts_with("r\"") || rest.starts_with("r#\"");
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if raw {
            let end = if rest.starts_with("r\"") { "\"" } else { "\"#" };
            let start = rest.find('"').unwrap_or_default() + 1;
            start + rest[start..].find(end).unwrap_or_default() + end.len()
        } else if let Some(content) = rest.strip_prefix('"') {
            let mut escaped = false;
            let end = content.find(|letter| {
                let ends = letter == '"' && !escaped;
                escaped = letter == '\\' && !escaped;
                ends
            });
            end.unwrap_or_default() + 2
        } else if rest.starts_with("'\\") {
            3 + rest[3..].find('\'').unwrap_or_default()
        } else if rest.starts_with('\'') && rest.chars().nth(2) == Some('\'') {
            rest.char_indices()
                .nth(3)
                .map_or(rest.len(), |(end, _)| end)
        } else {
            return false;
        };
        let before = &self.text[..self.at];
        let is_pattern = rest[length..].trim_start().starts_with("=>");
        let is_key = is_pattern || NOT_READ.iter().any(|call| before.ends_with(call));
        if (rest.starts_with('"') || raw) && !is_key {
            let text = rest[..length].trim_start_matches(['r', '#']);
            self.found.push(Literal {
                line: self.text[..self.at].matches('\n').count() + 1,
                place: place.clone(),
                text: text.trim_matches(['#', '"']).to_owned(),
            });
        }
        self.at += length;
        true
    }

    /// Scans the nodes of a `view!` up to its closing brace.
    fn nodes(&mut self) {
        while let Some(letter) = self.rest().chars().next() {
            match letter {
                '}' => return,
                '{' => {
                    self.at += 1;
                    self.code(&Position::Text, |_| false);
                }
                '<' if self.starts("</") => self.at += self.rest().find('>').unwrap_or_default(),
                '<' => self.tag(),
                _ if self.skip(&Position::Text) => continue,
                _ => {}
            }
            self.next();
        }
    }

    /// Scans a tag up to its `>`.
    fn tag(&mut self) {
        while let Some(letter) = self.rest().chars().next() {
            match letter {
                '>' => return,
                '=' => {
                    let before = &self.text[..self.at];
                    let is_name = |it: char| it.is_alphanumeric() || "_:-".contains(it);
                    let name = before.rsplit(|it| !is_name(it)).next().unwrap_or_default();
                    let place = match name.split_once(':') {
                        Some(("on", _)) => Position::Code,
                        _ => Position::Attribute(name.to_owned()),
                    };
                    self.at += 1;
                    self.code(&place, Self::value_ends);
                    continue;
                }
                '{' => {
                    self.at += 1;
                    self.code(&Position::Code, |_| false);
                }
                _ if self.skip(&Position::Code) => continue,
                _ => {}
            }
            self.next();
        }
    }

    /// Reports whether an attribute's value ends at the current position: at the end of the tag, or
    /// before a further attribute.
    fn value_ends(&self) -> bool {
        let before = self.text[..self.at].chars().next_back();
        if self.starts("/>") || (self.starts(">") && !matches!(before, Some('=' | '-'))) {
            return true;
        }
        let is_name = |it: char| it.is_ascii_alphanumeric() || "_:-".contains(it);
        let after = self.rest().trim_start_matches(is_name);
        let named =
            after.len() < self.rest().len() && after.starts_with('=') && !after.starts_with("==");
        named && before.is_some_and(char::is_whitespace)
    }
}

/// Returns the texts of a source file that must be in the message catalogue.
fn texts(source: &str) -> Vec<Literal> {
    let end = source.find("\n#[cfg(test)]\nmod ").unwrap_or(source.len());
    let mut literals = Scanner::literals(&source[..end]);
    literals.retain(Literal::is_text);
    literals
}

#[test]
fn views_take_their_text_from_the_message_catalogue() {
    let views = |file: &&String| {
        let is_view =
            file.starts_with("frontend/app/src/") || file.starts_with("frontend/kit/src/");
        is_view && !file.starts_with(FOR_DEVELOPERS)
    };
    let mut found = Vec::new();
    for file in files(".rs").iter().filter(views) {
        let texts = texts(&read(file));
        let lines = texts.iter();
        found.extend(lines.map(|it| format!("{file}:{}: {:?}", it.line, it.text)));
    }
    assert!(
        found.is_empty(),
        "move these texts into frontend/core/src/messages/english.rs:\n{}",
        found.join("\n")
    );
}

#[test]
fn rule_detects_literal_texts_in_views() {
    let source = r#"
        fn screen() -> impl IntoView {
            // "A comment."
            let (class, key, label) = ("badge", '"', "Remove");
            toasts.say("The user is created.");
            view! {
                <h1 class="head" title=t().users.title()>"Users"</h1>
                <Field label="Name" value=name help=move || if x { "Too short" } else { "" }/>
                <button type="button" aria-label="Close" class:busy=busy on:click=move |_| say("Gone from here.")>
                    {move || if open.get() { "Hide" } else { t().users.show() }}
                    "↑"
                </button>
                <p>{view! { <b id="x" aria-live="polite">"bold"</b> }}</p>
                <Position path="/users" key=|user| user.name.clone() let:user>{format!("{user}")}</Position>
            }
        }
        #[expect(lint, reason = "The reason is no text.")]
        fn other() {}
    "#;
    let found: Vec<String> = texts(source).into_iter().map(|it| it.text).collect();
    assert_eq!(
        found,
        [
            "Remove",
            "The user is created.",
            "Users",
            "Name",
            "Too short",
            "Close",
            "Gone from here.",
            "Hide",
            "bold"
        ]
    );
}
