//! Go's `strconv.Quote`.

use std::fmt::Write as _;

/// Reports whether Go's `unicode.IsPrint` is true.
pub(crate) fn is_print(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    if character.is_whitespace() || character.is_control() {
        return false;
    }
    // A leading letter keeps combining characters, which Rust escapes only at the start.
    let text = format!("a{character}");
    text.escape_debug().count() == 2
}

/// Returns a Go string literal in the quotes `quote`.
pub(crate) fn quote(text: &[u8], quote: char, only_ascii: bool) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            push_escaped(&mut out, character, quote, only_ascii);
        }
        for byte in chunk.invalid() {
            push_hex(&mut out, format_args!("\\x{byte:02x}"));
        }
    }
    out.push(quote);
    out
}

fn push_hex(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text)
        .expect("writing to a String never fails");
}

fn push_escaped(out: &mut String, character: char, quote: char, only_ascii: bool) {
    match character {
        _ if character == quote => out.extend(['\\', quote]),
        '\\' => out.push_str("\\\\"),
        '\x07' => out.push_str("\\a"),
        '\x08' => out.push_str("\\b"),
        '\x0c' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\x0b' => out.push_str("\\v"),
        _ if is_print(character) && (character.is_ascii() || !only_ascii) => out.push(character),
        '\0'..='\x7f' => push_hex(out, format_args!("\\x{:02x}", u32::from(character))),
        '\u{80}'..='\u{ffff}' => {
            push_hex(out, format_args!("\\u{:04x}", u32::from(character)));
        }
        _ => push_hex(out, format_args!("\\U{:08x}", u32::from(character))),
    }
}
