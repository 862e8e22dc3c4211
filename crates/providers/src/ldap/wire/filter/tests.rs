use super::*;

fn equal(attribute: &str, value: &[u8]) -> Filter {
    Filter::Equal(attribute.to_owned(), value.to_vec())
}

#[test]
fn rfc_4515_examples_are_parsed() {
    let rule = |rule: Option<&str>, attribute: Option<&str>, value: &[u8], dn_attributes| {
        Filter::Extensible {
            rule: rule.map(str::to_owned),
            attribute: attribute.map(str::to_owned),
            value: value.to_vec(),
            dn_attributes,
        }
    };
    let parts = |attribute: &str, begin: &str, middle: &[&str], end: &str| Filter::Substrings {
        attribute: attribute.to_owned(),
        begin: begin.into(),
        middle: middle.iter().map(|part| part.as_bytes().to_vec()).collect(),
        end: end.into(),
    };
    for (text, expected) in [
        ("(cn=Babs Jensen)", equal("cn", b"Babs Jensen")),
        (
            "(!(cn=Tim Howes))",
            Filter::Not(Box::new(equal("cn", b"Tim Howes"))),
        ),
        (
            "(&(objectClass=Person)(|(sn=Jensen)(cn=Babs J*)))",
            Filter::And(vec![
                equal("objectClass", b"Person"),
                Filter::Or(vec![equal("sn", b"Jensen"), parts("cn", "Babs J", &[], "")]),
            ]),
        ),
        ("(o=univ*of*mich*)", parts("o", "univ", &["of", "mich"], "")),
        ("(seeAlso=)", equal("seeAlso", b"")),
        ("(cn=*)", Filter::Present("cn".into())),
        (
            "(cn:caseExactMatch:=Fred Flintstone)",
            rule(
                Some("caseExactMatch"),
                Some("cn"),
                b"Fred Flintstone",
                false,
            ),
        ),
        (
            "(cn:=Betty Rubble)",
            rule(None, Some("cn"), b"Betty Rubble", false),
        ),
        (
            "(sn:dn:2.4.6.8.10:=Barney Rubble)",
            rule(Some("2.4.6.8.10"), Some("sn"), b"Barney Rubble", true),
        ),
        (
            "(o:dn:=Ace Industry)",
            rule(None, Some("o"), b"Ace Industry", true),
        ),
        (
            "(:1.2.3:=Wilma Flintstone)",
            rule(Some("1.2.3"), None, b"Wilma Flintstone", false),
        ),
        (
            "(:DN:2.4.6.8.10:=Dino)",
            rule(Some("2.4.6.8.10"), None, b"Dino", true),
        ),
        (
            r"(o=Parens R Us \28for all your parenthetical needs\29)",
            equal("o", b"Parens R Us (for all your parenthetical needs)"),
        ),
        (r"(cn=*\2A*)", parts("cn", "", &["*"], "")),
        (r"(bin=\00\00\00\04)", equal("bin", &[0, 0, 0, 4])),
        (r"(sn=Lu\c4\8di\c4\87)", equal("sn", "Lučić".as_bytes())),
        ("(age>=18)", Filter::AtLeast("age".into(), b"18".to_vec())),
        ("(age<=18)", Filter::AtMost("age".into(), b"18".to_vec())),
        (
            "(sn~=Smith)",
            Filter::Approximate("sn".into(), b"Smith".to_vec()),
        ),
        ("(&)", Filter::And(Vec::new())),
    ] {
        assert_eq!(Filter::parse(text), Ok(expected), "{text}");
    }
}

#[test]
fn invalid_filter_is_rejected_with_the_error_position() {
    for (text, at) in [
        ("", 1),
        ("cn=a", 1),
        ("(cn=a", 6),
        ("(cn=a))", 7),
        ("(cn=a)(cn=b)", 7),
        ("(cn)", 2),
        ("(=a)", 2),
        ("(c n=a)", 2),
        (r"(cn=\2)", 5),
        (r"(cn=\+1)", 5),
        (r"(cn=a\)", 6),
        ("(cn=a\0b)", 6),
        ("(cn=(a))", 5),
        ("(cn>=a*)", 7),
        ("(:=a)", 2),
        ("(cn:a:b:c:=a)", 2),
        ("(!(cn=a)(cn=b))", 9),
        ("(!)", 3),
    ] {
        let error = Filter::parse(text).unwrap_err();
        assert_eq!(error.at, at, "{text:?}: {error}");
    }
}

#[test]
fn too_deeply_nested_filter_is_rejected() {
    let text = "(!".repeat(100_000);
    let error = Filter::parse(&text).unwrap_err();
    assert!(error.problem.contains("too deep"), "{error}");
}

#[test]
fn filter_encoding_matches_rfc_4511() {
    let filter = Filter::parse("(&(a=b)(!(c=*))(d=e*f*g)(h:1.2:=i))").unwrap();
    let expected: &[u8] = &[
        0xa0, 44, //
        0xa3, 6, 4, 1, b'a', 4, 1, b'b', //
        0xa2, 3, 0x87, 1, b'c', //
        0xa4, 14, 4, 1, b'd', 0x30, 9, 0x80, 1, b'e', 0x81, 1, b'f', 0x82, 1, b'g', //
        0xa9, 11, 0x81, 3, b'1', b'.', b'2', 0x82, 1, b'h', 0x83, 1, b'i',
    ];
    let encoded = filter.encode();
    assert_eq!(encoded[2..], expected[2..]);
    assert_eq!(usize::from(encoded[1]), encoded.len() - 2);
}
