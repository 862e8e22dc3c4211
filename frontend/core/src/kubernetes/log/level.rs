//! Guesses the level of a log line from its text. The level only selects a color.

/// The level of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// The level info, or no detected level.
    #[default]
    Plain,
    /// The level debug or trace.
    Debug,
    /// The level warning.
    Warning,
    /// The level error, or a more severe level.
    Error,
}

/// The number of bytes at the start of a line that the detection reads.
const PREFIX_BYTES: usize = 240;

impl Level {
    /// Detects the level of a line.
    pub fn of(line: &str) -> Self {
        let start = &line[..line.floor_char_boundary(PREFIX_BYTES)];
        klog(start).or_else(|| worded(start)).unwrap_or_default()
    }
}

/// Detects the level in the klog format: `E1122 10:04:05.123456 …`.
fn klog(line: &str) -> Option<Level> {
    let (level, rest) = line.split_at_checked(1)?;
    let digits = rest.get(..4)?.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || rest.as_bytes().get(4) != Some(&b' ') {
        return None;
    }
    match level {
        "E" | "F" => Some(Level::Error),
        "W" => Some(Level::Warning),
        "I" => Some(Level::Plain),
        _ => None,
    }
}

/// Detects the first level word: `ERROR`, `[warn]`, `level=error`, `error: …`, `"level":50`.
fn worded(line: &str) -> Option<Level> {
    let mut before = Before::default();
    for (place, word) in words(line) {
        let next = line[place + word.len()..].chars().next();
        let last = line[..place].chars().next_back();
        let stands = is_upper(word)
            || before.names_level
            || next == Some(':')
            || (last == Some('[') && next == Some(']'))
            || (last == Some('<') && next == Some('>'));
        if let Some(level) = level(word, before.names_level).filter(|_| stands) {
            return Some(level);
        }
        before.names_level = ["level", "lvl", "severity", "loglevel"]
            .iter()
            .any(|name| word.eq_ignore_ascii_case(name));
    }
    None
}

#[derive(Default)]
struct Before {
    names_level: bool,
}

fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let pieces = line.split(|letter: char| !letter.is_ascii_alphanumeric());
    let start = line.as_ptr() as usize;
    pieces
        .filter(|piece| !piece.is_empty())
        .map(move |piece| (piece.as_ptr() as usize - start, piece))
}

fn is_upper(word: &str) -> bool {
    word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn level(word: &str, named: bool) -> Option<Level> {
    const LEVELS: [(&str, Level); 19] = [
        ("error", Level::Error),
        ("err", Level::Error),
        ("fatal", Level::Error),
        ("panic", Level::Error),
        ("critical", Level::Error),
        ("crit", Level::Error),
        ("severe", Level::Error),
        ("emerg", Level::Error),
        ("alert", Level::Error),
        ("exception", Level::Error),
        ("dpanic", Level::Error),
        ("warn", Level::Warning),
        ("warning", Level::Warning),
        ("wrn", Level::Warning),
        ("info", Level::Plain),
        ("notice", Level::Plain),
        ("debug", Level::Debug),
        ("trace", Level::Debug),
        ("verbose", Level::Debug),
    ];
    let known = LEVELS
        .iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name));
    known.map(|(_, level)| *level).or(match word {
        // The loggers pino and bunyan write numeric levels.
        "50" | "60" if named => Some(Level::Error),
        "40" if named => Some(Level::Warning),
        "30" if named => Some(Level::Plain),
        "10" | "20" if named => Some(Level::Debug),
        _ => None,
    })
}
