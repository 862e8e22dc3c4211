//! Limits that are numbers or percentages.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use thiserror::Error;

/// A limit that is not a number or percentage.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0:?} is not a limit: use a number, or a percentage such as 25%")]
pub struct LimitError(String);

/// Returns the number of items that a limit permits. The first limit that is set applies. Without a
/// limit, all items are permitted.
///
/// A percentage is rounded down, to at least 1. A number is at most `count`.
///
/// # Errors
///
/// The limit is not a number or percentage.
pub fn limit<'a>(
    count: usize,
    limits: impl IntoIterator<Item = Option<&'a IntOrString>>,
) -> Result<usize, LimitError> {
    if count == 0 {
        return Ok(1);
    }
    match limits.into_iter().flatten().next() {
        None => Ok(count),
        Some(IntOrString::Int(number)) => Ok(usize::try_from(*number).unwrap_or(0).min(count)),
        Some(IntOrString::String(text)) => from_text(count, text),
    }
}

fn from_text(count: usize, text: &str) -> Result<usize, LimitError> {
    let invalid = || LimitError(text.to_owned());
    if let Some(number) = text.parse::<i64>().ok().filter(|number| *number > 0) {
        return Ok(usize::try_from(number).unwrap_or(usize::MAX));
    }
    let percent = text.strip_suffix('%').ok_or_else(invalid)?;
    let percent: f64 = percent.parse().map_err(|_| invalid())?;
    if !percent.is_finite() {
        return Err(invalid());
    }
    Ok(share(count, percent).clamp(1, count))
}

/// Returns a percentage of a number, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the conversion saturates, and numbers of clusters are exact in f64"
)]
fn share(count: usize, percent: f64) -> usize {
    (count as f64 * percent).max(0.0) as usize / 100
}
