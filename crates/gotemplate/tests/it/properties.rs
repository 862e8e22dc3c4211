//! Properties that are true for any template.

use drover_fuzz_corpus::replay;
use proptest::prelude::*;

use crate::fuzz_properties;

/// Parts of templates, which random templates combine.
const PARTS: &[&str] = &[
    "{{",
    "}}",
    "{{-",
    "-}}",
    " ",
    "(",
    ")",
    "|",
    ".",
    ".a",
    "$",
    "$x",
    ":=",
    "=",
    ",",
    "1",
    "-1",
    "1.5",
    "\"s\"",
    "'c'",
    "`r`",
    "nil",
    "true",
    "if",
    "else",
    "end",
    "range",
    "with",
    "define",
    "template",
    "block",
    "break",
    "continue",
    "/*",
    "*/",
    "\n",
    "print",
    "printf",
    "\"%v%5d%q\"",
    "list",
    "dict",
    "set",
    "add",
    "index",
    "slice",
    "eq",
    "lt",
    "default",
    "toJson",
    "fromJson",
    "until",
    "repeat",
    "regexFind",
    "regexSplit",
    "semverCompare",
    "toDate",
    "date",
    "urlParse",
    "b64dec",
    "b32dec",
    "trunc",
    "substr",
    "camelcase",
    "snakecase",
    "wrap",
    "abbrevboth",
    "merge",
    "round",
    "divf",
    "len",
    "é",
    "\u{2028}",
    "9223372036854775807",
    "0x",
    "${",
    "}",
];

/// The names of all functions, for generated calls.
const FUNCTIONS: &str = "\
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

proptest! {
    #[test]
    fn no_combination_of_template_parts_panics(parts in prop::collection::vec(0..PARTS.len(), 0..40)) {
        let text: String = parts.iter().flat_map(|part| [PARTS[*part], " "]).collect();
        fuzz_properties::render(text.as_bytes());
        fuzz_properties::render(format!("{{{{ {text} }}}}").as_bytes());
    }

    #[test]
    fn no_text_panics(text in any::<Vec<u8>>()) {
        fuzz_properties::render(&text);
    }

    #[test]
    fn no_call_of_a_function_panics(
        function in "[a-zA-Z0-9]{2,12}",
        arguments in prop::collection::vec("(-?[0-9]{1,3}|\"[ -~&&[^\"\\\\]]{0,8}\"|nil|\\(list 1 \"a\"\\)|\\(dict \"a\" 1\\)|\\.)", 0..4),
    ) {
        let text = format!("{{{{ {function} {} }}}}", arguments.join(" "));
        fuzz_properties::render(text.as_bytes());
    }
}

#[test]
fn corpus_of_the_fuzz_target_has_no_panic() {
    replay(
        env!("CARGO_MANIFEST_DIR"),
        "render",
        fuzz_properties::render,
    );
}

#[test]
fn no_function_panics_with_any_pair_of_arguments() {
    let values = [
        "nil",
        "-1",
        "9223372036854775807",
        "1e300",
        "\"é,b\\xff[\"",
        "(list 1 \"a\" nil)",
        "(dict \"a\" 1)",
        "(int64 -9223372036854775808)",
        "(semver \"1.2.3\")",
        "(float64 \"nan\")",
        "(split \",\" \"a,b\")",
    ];
    for function in FUNCTIONS.split_whitespace() {
        for one in values {
            fuzz_properties::render(format!("{{{{ {function} {one} }}}}").as_bytes());
            for other in values {
                fuzz_properties::render(format!("{{{{ {function} {one} {other} }}}}").as_bytes());
                fuzz_properties::render(
                    format!("{{{{ {function} {one} {other} \"a\" }}}}").as_bytes(),
                );
            }
        }
    }
}
