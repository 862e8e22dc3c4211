//! ANSI colors (ECMA-48). Other escape sequences are dropped. Control characters are shown as
//! symbols.

use std::iter::Peekable;
use std::str::Chars;

/// The colors of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the variants are colors")]
pub enum Color {
    Black,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    White,
}

/// The text style of a part of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The text color; `None` for the default color.
    pub color: Option<Color>,
    /// True for bold text.
    pub bold: bool,
}

const COLORS: [Color; 8] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::White,
];

const TAB: usize = 8;

/// Removes the escape sequences; returns the text and the styles by start position.
pub(super) fn read(line: &str) -> (String, Vec<(usize, Style)>) {
    let (mut text, mut styles) = (String::with_capacity(line.len()), Vec::new());
    let mut style = Style::default();
    let mut column = 0;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => match letters.next() {
                Some('[') => control(&mut letters, &mut style),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut letters),
                Some(' '..='/') => drop(letters.next()),
                _ => {}
            },
            '\u{9b}' => control(&mut letters, &mut style),
            '\t' => {
                let blanks = TAB - column % TAB;
                text.extend(std::iter::repeat_n(' ', blanks));
                column += blanks;
            }
            _ => {
                if styles.last().map_or_else(Style::default, |(_, last)| *last) != style {
                    styles.push((text.len(), style));
                }
                text.push(visible(letter));
                column += 1;
            }
        }
    }
    (text, styles)
}

/// Returns a visible symbol for a control character (from U+2400).
fn visible(letter: char) -> char {
    match u32::from(letter) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        // The arm matches C1 controls and bidirectional controls.
        0x80..=0x9f | 0x202a..=0x202e | 0x2066..=0x2069 => '\u{fffd}',
        _ => letter,
    }
}

/// Parses a control sequence after `ESC [`. Only sequences that end with `m` change the style.
fn control(letters: &mut Peekable<Chars<'_>>, style: &mut Style) {
    let mut parameters = String::new();
    while let Some(letter) = letters.next_if(|letter| matches!(letter, ' '..='?')) {
        parameters.push(letter);
    }
    if letters.next_if(|letter| matches!(letter, '@'..='~')) == Some('m') {
        apply(&parameters, style);
    }
}

/// Skips a control string up to `BEL` or `ESC \`.
fn skip_string(letters: &mut Peekable<Chars<'_>>) {
    while let Some(letter) = letters.next() {
        match letter {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                letters.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

fn apply(parameters: &str, style: &mut Style) {
    let mut codes = parameters.split([';', ':']).map(|code| match code {
        "" => Some(0),
        code => code.parse::<u16>().ok(),
    });
    while let Some(Some(code)) = codes.next() {
        match code {
            0 => *style = Style::default(),
            1 => style.bold = true,
            22 => style.bold = false,
            30..=37 => style.color = Some(COLORS[usize::from(code - 30)]),
            90..=97 => style.color = Some(COLORS[usize::from(code - 90)]),
            39 => style.color = None,
            38 => style.color = of_many(&mut codes),
            // Background colors are ignored for readability.
            48 | 58 => drop(of_many(&mut codes)),
            _ => {}
        }
    }
}

/// Parses a 256-color code (`5;n`) or an RGB code (`2;r;g;b`).
fn of_many(codes: &mut impl Iterator<Item = Option<u16>>) -> Option<Color> {
    let mut next = || codes.next().flatten();
    match next()? {
        5 => match next()? {
            code @ 0..=15 => Some(COLORS[usize::from(code % 8)]),
            code @ 16..=231 => {
                let part = |by| (code - 16) / by % 6 * 51;
                Some(nearest(part(36), part(6), part(1)))
            }
            _ => None,
        },
        2 => {
            let (red, green, blue) = (next()?, next()?, next()?);
            Some(nearest(red, green, blue))
        }
        _ => None,
    }
}

fn nearest(red: u16, green: u16, blue: u16) -> Color {
    let half = red.max(green).max(blue) / 2;
    let bit = |part: u16, bit| if part > half { bit } else { 0 };
    COLORS[bit(red, 1) + bit(green, 2) + bit(blue, 4)]
}
