//! Extracts texts of Rust sources: doc comments, UI strings, messages and test names.

use super::{Category, Sample};
use crate::tokens::{Located, Token, tokens};

/// Folder of the message catalogues. In a commit without the folder, the UI strings are literals in
/// the UI's sources.
pub(super) const CATALOGUE: &str = "frontend/core/src/messages";
const UI: [&str; 2] = ["frontend/app/src/", "frontend/kit/src/"];
const LOG_MACROS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];
/// Types whose constructors take the message of an API error.
const STATUS_TYPES: [&str; 4] = ["Status", "ApiError", "Refusal", "Failure"];

/// Returns all texts of a source file.
pub(super) fn extract(file: &str, source: &str) -> Vec<Sample> {
    let tokens = tokens(source);
    let sample = |category| {
        move |(line, text): (usize, String)| Sample {
            category,
            file: file.to_owned(),
            line,
            text,
        }
    };
    let mut found: Vec<Sample> = Vec::new();
    found.extend(
        doc_comments(&tokens)
            .into_iter()
            .map(sample(Category::DocComment)),
    );
    found.extend(
        test_names(&tokens)
            .into_iter()
            .map(sample(Category::TestName)),
    );
    if is_test_file(file) {
        return found;
    }
    let production = before_tests(&tokens);
    found.extend(
        messages(production)
            .into_iter()
            .map(sample(Category::Message)),
    );
    if file.starts_with(CATALOGUE) {
        let texts = literals(production).filter(|(_, text)| is_message(text));
        found.extend(texts.map(sample(Category::UiString)));
    } else if UI.iter().any(|folder| file.starts_with(folder)) {
        let strings = ui_strings(production).into_iter();
        found.extend(strings.map(sample(Category::UiString)));
    }
    found
}

fn is_test_file(file: &str) -> bool {
    file.contains("/tests/")
        || file.ends_with("/tests.rs")
        || file.ends_with("_tests.rs")
        || file.contains("/fuzz/")
        || file.starts_with("e2e/")
        || file.starts_with("crates/testkit/")
}

/// Returns the tokens of a file before the module with the attribute `#[cfg(test)]`.
fn before_tests(tokens: &[Located]) -> &[Located] {
    let pattern = |window: &[Located]| {
        window[0].token.is_word("cfg")
            && window[2].token.is_word("test")
            && window[5..]
                .iter()
                .any(|located| located.token.is_word("mod"))
    };
    let end = tokens.windows(9).position(pattern);
    &tokens[..end.unwrap_or(tokens.len())]
}

/// Returns the doc comments, without code examples. Adjacent lines of a comment form one text.
fn doc_comments(tokens: &[Located]) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut last_line = 0;
    let mut in_code = false;
    for located in tokens {
        let Token::Doc(text) = &located.token else {
            last_line = 0;
            continue;
        };
        let continues = last_line > 0 && located.line == last_line + 1;
        last_line = located.line;
        if !continues {
            in_code = false;
            found.push((located.line, String::new()));
        }
        if text.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code && let Some((_, whole)) = found.last_mut() {
            if !whole.is_empty() {
                whole.push('\n');
            }
            whole.push_str(text);
        }
    }
    found.retain(|(_, text)| text.contains(char::is_alphabetic));
    found
}

/// Returns the names of functions with an attribute such as `#[test]` or `#[tokio::test…]`.
fn test_names(tokens: &[Located]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_test = false;
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].token.is_mark('#') && is_mark(tokens, at + 1, '[') {
            let end = closing(tokens, at + 1);
            is_test |= is_test_attribute(&tokens[at + 2..end]);
            at = end;
        } else if tokens[at].token.is_word("fn") {
            if let Some(Located {
                line,
                token: Token::Word(name),
            }) = tokens.get(at + 1)
                && is_test
            {
                found.push((*line, name.clone()));
            }
            is_test = false;
        }
        at += 1;
    }
    found
}

/// Reports whether the path of an attribute ends with `test`. Arguments of the attribute are
/// ignored.
fn is_test_attribute(attribute: &[Located]) -> bool {
    let path = attribute
        .iter()
        .take_while(|located| !located.token.is_mark('('))
        .filter(|located| !located.token.is_mark(':'));
    path.last()
        .is_some_and(|located| located.token.is_word("test"))
}

/// Returns the messages of `tracing` macros, of `#[error("…")]` and of API errors.
fn messages(tokens: &[Located]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let Token::Word(word) = &tokens[at].token else {
            continue;
        };
        let open = if LOG_MACROS.contains(&word.as_str()) && is_mark(tokens, at + 1, '!') {
            at + 2
        } else if word == "error"
            && is_mark(tokens, at + 1, '(')
            && at >= 2
            && is_mark(tokens, at - 1, '[')
        {
            at + 1
        } else if STATUS_TYPES.contains(&word.as_str()) && is_mark(tokens, at + 1, ':') {
            at + 4
        } else {
            continue;
        };
        if is_mark(tokens, open, '(') {
            let arguments = &tokens[open + 1..closing(tokens, open)];
            found.extend(first_message(arguments));
        }
    }
    found.retain(|(_, text)| text.split_whitespace().count() > 1);
    found
}

/// Returns the first literal that is not a named value (`name = "…"`).
fn first_message(arguments: &[Located]) -> Option<(usize, String)> {
    let values = arguments.iter().enumerate();
    values
        .filter(|(at, _)| *at == 0 || !arguments[at - 1].token.is_mark('='))
        .find_map(|(_, located)| match &located.token {
            Token::Text(text) => Some((located.line, text.clone())),
            _ => None,
        })
}

/// Returns the literals that are visible text. Such a literal consists mostly of letters, and
/// starts with an uppercase letter or contains a space between words. Values of invisible
/// attributes are excluded.
fn ui_strings(tokens: &[Located]) -> Vec<(usize, String)> {
    const HIDDEN: [&str; 11] = [
        "class",
        "id",
        "type",
        "d",
        "points",
        "style",
        "role",
        "name",
        "autocomplete",
        "viewBox",
        "expect",
    ];
    let mut found = Vec::new();
    for (at, located) in tokens.iter().enumerate() {
        let Token::Text(text) = &located.token else {
            continue;
        };
        let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
        let assigned =
            before(1).is_some_and(|own| own.token.is_mark('=') || own.token.is_mark('('));
        let hidden = before(2).is_some_and(
            |own| matches!(&own.token, Token::Word(word) if HIDDEN.contains(&word.as_str())),
        );
        if !(assigned && hidden) && reads_like_text(text) {
            found.push((located.line, text.clone()));
        }
    }
    found
}

fn literals(tokens: &[Located]) -> impl Iterator<Item = (usize, String)> {
    tokens.iter().filter_map(|located| match &located.token {
        Token::Text(text) => Some((located.line, text.clone())),
        _ => None,
    })
}

/// Reports whether a literal of the catalogue is visible text. Language tags and punctuation are
/// not visible text.
fn is_message(text: &str) -> bool {
    text.chars().filter(|letter| letter.is_alphabetic()).count() > 2
}

fn reads_like_text(text: &str) -> bool {
    let trimmed = text.trim();
    let letters = trimmed
        .chars()
        .filter(|letter| letter.is_alphabetic() || *letter == ' ')
        .count();
    let total = trimmed.chars().count();
    let starts_upper = trimmed.chars().next().is_some_and(char::is_uppercase);
    let words = trimmed.split_whitespace().count();
    total > 1 && letters * 10 >= total * 7 && (starts_upper && total > 3 || words > 2)
}

fn is_mark(tokens: &[Located], at: usize, mark: char) -> bool {
    tokens
        .get(at)
        .is_some_and(|located| located.token.is_mark(mark))
}

/// Returns the index of the bracket that closes the bracket at `open`, or the number of tokens.
fn closing(tokens: &[Located], open: usize) -> usize {
    let mut depth = 0;
    for (at, located) in tokens.iter().enumerate().skip(open) {
        if let Token::Mark('(' | '[' | '{') = located.token {
            depth += 1;
        } else if let Token::Mark(')' | ']' | '}') = located.token {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(category: Category, file: &str, source: &str) -> Vec<String> {
        extract(file, source)
            .into_iter()
            .filter(|sample| sample.category == category)
            .map(|sample| sample.text)
            .collect()
    }

    #[test]
    fn adjacent_doc_comment_lines_are_one_text_without_examples() {
        let source = "//! Module.\n\n/// First\n/// second.\n/// ```\n/// code\n/// ```\nfn f() {}\n/// Third.\nfn g() {}";
        assert_eq!(
            texts(Category::DocComment, "a.rs", source),
            ["Module.", "First\nsecond.", "Third."]
        );
    }

    #[test]
    fn test_names_are_found_by_their_attribute() {
        let source = "#[test]\nfn a_works() {}\nfn helper() {}\n#[tokio::test(start_paused = true)]\n\
                      async fn b_works() {}\n#[cfg(test)]\nfn not_a_test() {}\n#[test]\n#[expect(x)]\nfn c() {}";
        assert_eq!(
            texts(Category::TestName, "a.rs", source),
            ["a_works", "b_works", "c"]
        );
    }

    #[test]
    fn messages_are_extracted_without_log_fields() {
        let source = r#"
            fn f() {
                tracing::warn!(cluster = "one two", error = %e, "cannot read the file");
                info!("agent connected");
                Err(Status::internal(format!("cannot write {x}")))
            }
            #[error("cannot parse {0}: it is empty")]
            struct E;
            #[cfg(test)]
            mod tests { fn t() { info!("only a test"); } }
        "#;
        assert_eq!(
            texts(Category::Message, "server/src/a.rs", source),
            [
                "cannot read the file",
                "agent connected",
                "cannot write {x}",
                "cannot parse {0}: it is empty"
            ]
        );
    }

    #[test]
    fn css_classes_are_not_ui_strings() {
        let source = r#"fn v() { view! { <p class="button quiet large">"Delete cluster"</p> } }"#;
        let found = texts(Category::UiString, "frontend/app/src/a.rs", source);
        assert_eq!(found, ["Delete cluster"]);
        assert!(texts(Category::UiString, "server/src/a.rs", source).is_empty());
    }

    #[test]
    fn catalogue_texts_are_ui_strings() {
        let source =
            r#"catalogue! { a { tag = "en"; save = "Save"; none(x: &str) = "no {x} here"; } }"#;
        let found = texts(
            Category::UiString,
            "frontend/core/src/messages/english.rs",
            source,
        );
        assert_eq!(found, ["Save", "no {x} here"]);
    }
}
