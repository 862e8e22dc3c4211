//! Tests that every template ends.

use drover_gotemplate::{Delimiters, Limit, Limits, RenderError, Template, UNAVAILABLE};
use serde_json::json;

fn render(text: &str) -> Result<String, RenderError> {
    let template = Template::parse(text, Delimiters::GO).unwrap();
    template.render(&json!({"a": 1}), Limits::default())
}

/// Returns the limit that a template exceeds.
fn limit(text: &str) -> Limit {
    match render(text) {
        Err(RenderError::Limit { limit, .. }) => limit,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn endless_templates_exceed_the_number_of_steps() {
    for text in [
        "{{ range 9223372036854775807 }}{{ end }}",
        "{{ range 100000 }}{{ range 100000 }}{{ end }}{{ end }}",
        "{{ until 9223372036854775807 }}",
        "{{ untilStep -9223372036854775807 9223372036854775807 1 }}",
        "{{ seq 1 9223372036854775806 }}",
        "{{ repeat 9223372036854775807 \"abc\" }}",
        "{{ indent 9223372036854775807 \"abc\" }}",
        "{{ nindent 1000000000 \"a\\nb\" }}",
        "{{ $s := repeat 9 \"%1000000d\" }}{{ printf $s 1 2 3 4 5 6 7 8 9 }}",
        "{{ $s := \"aaaaaaaa\" }}{{ range 100 }}{{ $s = print $s $s }}{{ end }}",
        "{{ $s := repeat 100000 \"a\" }}{{ replace \"a\" $s $s }}",
        "{{ $s := repeat 100000 \"a\" }}{{ replace \"\" $s $s }}",
        "{{ $s := repeat 100000 \"a\" }}{{ regexReplaceAll \"a\" $s (repeat 1000 \"$0\") }}",
        "{{ $s := repeat 1000 \"a\" }}{{ regexReplaceAll \".*\" $s (repeat 100000 \"$0\") }}",
        "{{ $s := repeat 100000 \"a\" }}{{ join $s (until 100000) }}",
        "{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ $l }}",
        "{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ toJson $l }}",
        "{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ deepEqual $l (list) }}{{ deepCopy $l }}",
        "{{ $l := list 1 }}{{ range 60 }}{{ $l = concat $l $l }}{{ end }}",
        "{{ $l := until 100000 }}{{ uniq $l }}",
        "{{ range 100000 }}{{ regexMatch \"a{1000}\" \"b\" }}{{ end }}",
    ] {
        assert_eq!(limit(text), Limit::Steps, "{text}");
    }
}

#[test]
fn recursive_template_exceeds_the_nesting() {
    let text = "{{ define \"r\" }}{{ template \"r\" . }}{{ end }}{{ template \"r\" . }}";
    assert_eq!(limit(text), Limit::Depth);
    let inner = "{{ if true }}".repeat(90) + "{{ template \"r\" . }}" + &"{{ end }}".repeat(90);
    let text = format!("{{{{ define \"r\" }}}}{inner}{{{{ end }}}}{{{{ template \"r\" . }}}}");
    assert_eq!(limit(&text), Limit::Depth);
    let inner = "(print ".repeat(90) + "1" + &")".repeat(90);
    let text = format!(
        "{{{{ define \"r\" }}}}{{{{ if {inner} }}}}{{{{ template \"r\" . }}}}{{{{ end }}}}{{{{ end }}}}{{{{ template \"r\" . }}}}"
    );
    assert_eq!(limit(&text), Limit::Depth);
}

#[test]
fn deep_parentheses_and_actions_are_parse_errors() {
    for text in [
        "{{ ".to_owned() + &"(".repeat(100_000),
        "{{ if true }}".repeat(100_000),
        "{{ if true }}{{ else ".repeat(100_000),
        "{{ if true }}".to_owned() + &"{{ else if true }}".repeat(100_000) + "{{ end }}",
        "{{ block \"a\" . }}".repeat(100_000),
        "{{ define \"a\" }}".repeat(100_000),
    ] {
        assert!(Template::parse(&text, Delimiters::GO).is_err());
    }
}

#[test]
fn deeply_nested_values_exceed_the_nesting_of_values() {
    let list = "{{ $l := list }}{{ range 200 }}{{ $l = list $l }}{{ end }}";
    assert_eq!(limit(list), Limit::ValueDepth);
    let cycle = "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}";
    for action in [
        "$d",
        "toJson $d",
        "deepCopy $d",
        "deepEqual $d (dict \"d\" $d)",
        "merge (dict \"d\" (dict)) $d",
    ] {
        let result = render(&format!("{cycle}{{{{ {action} }}}}"));
        assert!(
            !matches!(result, Err(RenderError::Failed { .. })),
            "{action}: {result:?}"
        );
    }
    assert_eq!(limit(&format!("{cycle}{{{{ $d }}}}")), Limit::ValueDepth);
    let chain = "{{ $first := dict }}{{ $d := $first }}{{ range 50000 }}{{ $n := dict }}\
                 {{ $_ := set $d \"d\" $n }}{{ $d = $n }}{{ end }}done";
    assert_eq!(render(chain).as_deref(), Ok("done"));
}

#[test]
fn large_output_exceeds_the_output_size() {
    let template = Template::parse("{{ range 100 }}0123456789{{ end }}", Delimiters::GO).unwrap();
    let limits = Limits {
        output_bytes: 999,
        ..Limits::default()
    };
    let error = template.render(&json!({}), limits).unwrap_err();
    assert!(matches!(
        error,
        RenderError::Limit {
            limit: Limit::OutputBytes,
            ..
        }
    ));
}

#[test]
fn unavailable_functions_are_named_only_when_called() {
    for function in UNAVAILABLE {
        assert_eq!(
            render(&format!(
                "{{{{ if false }}}}{{{{ {function} }}}}{{{{ end }}}}ok"
            ))
            .as_deref(),
            Ok("ok")
        );
        let error = render(&format!("{{{{ {function} }}}}")).unwrap_err();
        assert_eq!(error, RenderError::Unavailable { line: 1, function });
        assert!(error.to_string().contains(function));
    }
    let error = render("{{ date \"2006\" .a }}").unwrap_err();
    assert_eq!(
        error,
        RenderError::Unavailable {
            line: 1,
            function: "date"
        }
    );
}

#[test]
fn errors_name_the_line() {
    let error = Template::parse("a\nb {{ unknown }}", Delimiters::GO).unwrap_err();
    assert_eq!(error.line, 2);
    let error = render("a\n\n{{ .missing }}").unwrap_err();
    assert!(matches!(error, RenderError::Failed { line: 3, .. }));
}
