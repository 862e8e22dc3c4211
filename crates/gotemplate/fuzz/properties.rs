//! Properties of the crate `drover-gotemplate` that are true for any input. The fuzzer checks the
//! properties with generated inputs, and `cargo test` checks the properties with the corpus.

use drover_gotemplate::{Delimiters, Limits, Template};
use serde_json::json;

/// The names of all functions, for generated calls.
pub(crate) const FUNCTIONS: &str = "\
    abbrev abbrevboth add add1 add1f addf adler32sum all and any append atoi b32dec b32enc b64dec \
    b64enc base biggest call camelcase cat ceil chunk clean coalesce compact concat contains date \
    dateInZone dateModify date_in_zone date_modify deepCopy deepEqual default dict dig dir div \
    divf duration durationRound empty eq ext fail first float64 floor fromJson ge get gt has \
    hasKey hasPrefix hasSuffix hello html htmlDate htmlDateInZone indent index initial initials \
    int int64 isAbs join js kebabcase keys kindIs kindOf last le len list lower lt max maxf merge \
    mergeOverwrite min minf mod mul mulf mustAppend mustChunk mustCompact mustDateModify \
    mustDeepCopy mustFirst mustFromJson mustHas mustInitial mustLast mustMerge mustMergeOverwrite \
    mustPrepend mustPush mustRegexFind mustRegexFindAll mustRegexMatch mustRegexReplaceAll \
    mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse mustSlice mustToDate mustToJson \
    mustToPrettyJson mustToRawJson mustUniq mustWithout must_date_modify ne nindent nospace not \
    omit or osBase osClean osDir osExt osIsAbs pick pluck plural prepend print printf println push \
    quote regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll regexReplaceAllLiteral \
    regexSplit repeat replace rest reverse round semver semverCompare seq set sha1sum sha256sum \
    sha512sum slice snakecase sortAlpha split splitList splitn squote sub subf substr swapcase \
    ternary title toDate toDecimal toJson toPrettyJson toRawJson toString toStrings trim trimAll \
    trimPrefix trimSuffix trimall trunc tuple typeIs typeIsLike typeOf uniq unixEpoch unset until \
    untilStep untitle upper urlJoin urlParse urlquery values without wrap wrapWith \
";

/// Checks that no template panics, and that a rendered text is within the limit.
pub(crate) fn render(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let limits = Limits {
        output_bytes: 10_000,
        steps: 20_000,
        depth: 100,
    };
    let values = json!({"a": {"b": [1, "x", null, 2.5]}, "s": "text", "e": {}});
    for delimiters in [Delimiters::GO, Delimiters::FLEET] {
        if let Ok(template) = Template::parse(text, delimiters)
            && let Ok(rendered) = template.render(&values, limits)
        {
            assert!(rendered.len() <= limits.output_bytes);
        }
    }
}
