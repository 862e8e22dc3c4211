use super::*;

fn answer(operation: &[u8], controls: &[u8]) -> Vec<u8> {
    request(7, operation, controls)
}

fn result(tag: u8, code: u32, diagnostic: &[u8]) -> Vec<u8> {
    let code = ber::number(ENUMERATED, code);
    ber::element(tag, &[&code, &ber::octets(b""), &ber::octets(diagnostic)])
}

fn attribute(name: &str, values: &[&[u8]]) -> Vec<u8> {
    let values: Vec<u8> = values.iter().flat_map(|value| ber::octets(value)).collect();
    let values = ber::element(SET, &[&values]);
    ber::element(SEQUENCE, &[&ber::octets(name.as_bytes()), &values])
}

fn entry_of(attributes: &[Vec<u8>]) -> Vec<u8> {
    let attributes = ber::element(SEQUENCE, &[&attributes.concat()]);
    ber::element(0x64, &[&ber::octets(b"cn=a"), &attributes])
}

#[test]
fn attribute_names_of_an_entry_are_case_insensitive() {
    let bytes = answer(
        &entry_of(&[
            attribute("objectGUID", &[&[0, 255]]),
            attribute("mail", &[b"a@b", b"c@d"]),
            attribute("cn", &[]),
            attribute("MAIL", &[b"e@f"]),
        ]),
        &[],
    );
    let Answer::Entry(entry) = Message::parse(&bytes).unwrap().answer else {
        panic!("no entry")
    };
    assert_eq!(entry.name, "cn=a");
    assert_eq!(entry.values("OBJECTGUID"), [vec![0, 255]]);
    assert_eq!(entry.values("mail").len(), 3);
    assert!(entry.values("cn").is_empty() && entry.values("sn").is_empty());
}

#[test]
fn paging_cookie_is_read_from_the_list_of_ldap_controls() {
    let cookie = |cookie: &[u8]| {
        let value = [ber::number(INTEGER, 0), ber::octets(cookie)].concat();
        ber::octets(&ber::element(SEQUENCE, &[&value]))
    };
    let paged = ber::octets(PAGED_RESULTS.as_bytes());
    let other = ber::element(SEQUENCE, &[&ber::octets(b"1.2.3")]);
    for (control, expected) in [
        (vec![paged.clone(), cookie(b"on")], Some(b"on".to_vec())),
        (
            vec![paged.clone(), ber::boolean(true), cookie(b"on")],
            Some(b"on".to_vec()),
        ),
        (vec![paged.clone(), cookie(b"")], None),
    ] {
        let control = ber::element(SEQUENCE, &[&control.concat()]);
        let controls = ber::element(0xa0, &[&other, &control]);
        let message = Message::parse(&answer(&result(0x65, 0, b""), &controls)).unwrap();
        assert!(matches!(message.answer, Answer::Done { next, .. } if next == expected));
    }
    let bytes = answer(&result(0x65, 0, b""), &[]);
    let message = Message::parse(&bytes).unwrap();
    assert!(matches!(message.answer, Answer::Done { next: None, .. }));
}

#[test]
fn diagnostic_message_is_truncated_to_one_line() {
    let message = format!("no\r\n\u{1b}[31m{}", "x".repeat(1000));
    let bytes = answer(&result(0x61, 49, message.as_bytes()), &[]);
    let Answer::BindResult(outcome) = Message::parse(&bytes).unwrap().answer else {
        panic!("the message is not a bind response")
    };
    assert_eq!(outcome.code, 49);
    assert_eq!(outcome.diagnostic.chars().count(), MAX_DIAGNOSTIC);
    assert!(!outcome.diagnostic.contains(char::is_control));
}

#[test]
fn invalid_ldap_response_returns_an_error() {
    let done = result(0x65, 0, b"");
    let long = ber::element(SEQUENCE, &[&ber::number(INTEGER, 7), &done, &[0xa0, 0x7f]]);
    for bytes in [
        // These bytes abort a program that uses ldap3 0.12.
        vec![0x30, 0],
        vec![0x30, 3, 2, 1, 7],
        vec![],
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        answer(&[0x61, 0], &[]),
        answer(&[0x64, 0], &[]),
        answer(
            &ber::element(0x64, &[&ber::octets(&[0xff]), &[0x30, 0]]),
            &[],
        ),
        answer(&done, &[0xa0, 2, 0x30, 0]),
        answer(&[0x60, 0], &[]),
        long,
        [answer(&done, &[]), vec![0]].concat(),
    ] {
        assert!(Message::parse(&bytes).is_err(), "{bytes:x?}");
    }
}

#[test]
fn ldap_message_length_is_read_from_the_header_and_limited() {
    assert_eq!(length(&[]), Ok(None));
    assert_eq!(length(&[0x30]), Ok(None));
    assert_eq!(length(&[0x30, 0x83, 0]), Ok(None));
    assert_eq!(length(&[0x30, 5]), Ok(Some(7)));
    assert_eq!(length(&[0x30, 0x83, 0, 1, 0]), Ok(Some(261)));
    assert!(length(&[0x30, 0x84, 0x7f, 0, 0, 0]).is_err());
    assert!(length(&[0x16, 3, 1]).is_err());
}

#[test]
fn request_encoding_matches_rfc_4511() {
    let bound = bind(1, "cn=a", "p");
    let expected: &[u8] = &[
        0x30, 17, 2, 1, 1, 0x60, 12, 2, 1, 3, 4, 4, b'c', b'n', b'=', b'a', 0x80, 1, b'p',
    ];
    assert_eq!(bound, expected);
    let started = start_tls();
    assert_eq!(started[..9], [0x30, 29, 2, 1, 1, 0x77, 24, 0x80, 22]);
    assert_eq!(&started[9..], START_TLS.as_bytes());

    let query = Query {
        base: "o=a",
        scope: Scope::Subtree,
        filter: &Filter::Present("cn".into()),
        attributes: &["cn"],
        size_limit: 2,
        time_limit: 10,
    };
    let page = Page {
        size: 500,
        cookie: b"x".to_vec(),
    };
    let bytes = search(3, &query, Some(&page));
    let expected: &[u8] = &[
        2, 1, 3, //
        0x63, 30, 4, 3, b'o', b'=', b'a', 0x0a, 1, 2, 0x0a, 1, 0, 2, 1, 2, 2, 1, 10, 1, 1,
        0, //
        0x87, 2, b'c', b'n', 0x30, 4, 4, 2, b'c', b'n', //
        0xa0, 37, 0x30, 35, 4, 22,
    ];
    assert_eq!(bytes[2..2 + expected.len()], *expected);
    assert!(bytes.ends_with(&[4, 9, 0x30, 7, 2, 2, 1, 0xf4, 4, 1, b'x']));
}
