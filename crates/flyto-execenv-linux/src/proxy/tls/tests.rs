//! What is made of bytes, however they are cut.

use std::cell::RefCell;

use proptest::{collection::vec, prelude::*};

use super::*;

fn long(content: &[u8]) -> Vec<u8> {
    [&(content.len() as u16).to_be_bytes(), content].concat()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().as_slice(), &long(content)].concat()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_be_bytes();
    [&[kind], &length[1..], body].concat()
}

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind, 3, 1], long(content).as_slice()].concat()
}

/// Handshake records with so many bytes of content each.
fn records_of(n: usize, messages: &[u8]) -> Vec<u8> {
    messages.chunks(n).flat_map(|it| record(HANDSHAKE, it)).collect()
}

/// A ClientHello with this name and more extensions.
fn hello(name: Option<&str>, extensions: &[u8]) -> Vec<u8> {
    let server_name = name.map_or(Vec::new(), |name| {
        extension(0, &long(&[&[0], long(name.as_bytes()).as_slice()].concat()))
    });
    let versions = extension(43, &[2, 3, 4]);
    let body = [
        [3, 3].as_slice(),
        &[7; 32],
        &[0],
        &long(&[0x13, 0x01]),
        &[1, 0],
        &long(&[&versions, server_name.as_slice(), extensions].concat()),
    ];
    message(1, &body.concat())
}

/// A ServerHello; with `supported_versions` it is one of TLS 1.3.
fn server_hello(random: &[u8; 32], extensions: &[u8]) -> Vec<u8> {
    let body = [&[3, 3], random.as_slice(), &[0, 0x13, 0x01, 0], &long(extensions)];
    message(2, &body.concat())
}

/// The first record of a connection to this host.
pub(in crate::proxy) fn client_hello(name: Option<&str>) -> Vec<u8> {
    record(HANDSHAKE, &hello(name, &[]))
}

const CCS: &[u8] = &[20, 3, 3, 0, 1, 1];
const ALERT: &[u8] = &[21, 3, 3, 0, 2, 1, 90];

fn early_data() -> Vec<u8> {
    record(23, &[0xa5; 100])
}

/// What comes of these parts, each of which is looked at alone: the bytes that go on, and whether all that follows
/// does. The name `a.org` is granted.
fn look(parts: &[&[u8]], answered: Option<Version>) -> Result<(Vec<u8>, bool), Refused> {
    let mut client = Client::new();
    let mut held = Vec::new();
    let mut passed = Vec::new();
    for part in parts {
        let n = client.look(part, answered, |name| name == Some("a.org"))?;
        held.extend_from_slice(part);
        passed.extend(held.drain(..n));
    }
    Ok((passed, client.is_over()))
}

/// The same in one part and in parts of one byte: how many bytes go on.
#[track_caller]
fn check(bytes: &[u8], answered: Option<Version>, expect: Result<(usize, bool), Refused>) {
    let single: Vec<_> = bytes.chunks(1).collect();
    for (parts, how) in [([bytes].as_slice(), "in one part"), (&single, "byte by byte")] {
        let found = look(parts, answered);
        let shown = found.clone().map(|(passed, is_over)| (passed.len(), is_over));
        assert_eq!(shown, expect, "{how}");
        assert!(found.is_ok_and(|(passed, _)| bytes.starts_with(&passed)) || expect.is_err());
    }
}

#[track_caller]
fn passes(parts: &[&[u8]], answered: Option<Version>) {
    let bytes = parts.concat();
    check(&bytes, answered, Ok((bytes.len(), false)));
}

#[track_caller]
fn refused(parts: &[&[u8]], answered: Option<Version>, why: Refused) {
    check(&parts.concat(), answered, Err(why));
}

/// The names in these bytes.
fn names(bytes: &[u8]) -> Vec<Option<String>> {
    let names = RefCell::new(Vec::new());
    let is_granted = |name: Option<&str>| {
        names.borrow_mut().push(name.map(str::to_owned));
        true
    };
    assert_eq!(Client::new().look(bytes, None, is_granted), Ok(bytes.len()));
    names.into_inner()
}

#[test]
fn the_name_is_found() {
    let named = |it: &str| vec![Some(it.to_owned())];
    assert_eq!(names(&client_hello(Some("A.example.org."))), named("a.example.org"));
    assert_eq!(names(&client_hello(None)), [None]);
    // In records of one byte each.
    assert_eq!(names(&records_of(1, &hello(Some("a.org"), &[]))), named("a.org"));
    // GREASE (RFC 8701): an extension without content and one with.
    let grease = [extension(0x0a0a, &[]), extension(0xfafa, &[0])].concat();
    assert_eq!(names(&record(HANDSHAKE, &hello(Some("a.org"), &grease))), named("a.org"));
    // Without extensions at all.
    let body = [[3, 3].as_slice(), &[7; 32], &[0, 0, 2, 0, 47, 1, 0]].concat();
    assert_eq!(names(&record(HANDSHAKE, &message(1, &body))), [None]);
}

#[test]
fn what_is_cut_off_is_held_back() {
    let whole = client_hello(Some("a.org"));
    for n in 1..whole.len() {
        check(&whole[..n], None, Ok((0, false)));
    }
    passes(&[&whole], None);
}

#[test]
fn every_hello_names_the_host() {
    let first = client_hello(Some("a.org"));
    let again = hello(Some("a.org"), &[]);
    let early = early_data();
    let between: [&[&[u8]]; 7] = [
        &[],
        &[CCS],
        &[ALERT],
        &[&early],
        &[CCS, &early, &early],
        &[&early, CCS],
        &[&record(23, &[]), CCS, CCS],
    ];
    for between in between {
        let start = [&first, between.concat().as_slice()].concat();
        for n in [1, 7, 50, 1000] {
            passes(&[&start, &records_of(n, &again)], None);
            for other in [hello(Some("b.org"), &[]), hello(None, &[])] {
                refused(&[&start, &records_of(n, &other)], None, Refused::Name);
                // Of a name that is refused, nothing has gone on before.
                let cut = records_of(n, &other);
                let cut = &cut[..cut.len() - 1];
                check(&[&start, cut].concat(), None, Ok((start.len(), false)));
            }
        }
    }
    // In one record, with its end in the next one.
    let both = [again.clone(), hello(Some("b.org"), &[])].concat();
    for n in [again.len() - 1, again.len(), again.len() + 1, 1000] {
        refused(&[&records_of(n, &both)], None, Refused::Name);
    }
    refused(&[&first, &first, &client_hello(Some("b.org"))], None, Refused::Name);
}

#[test]
fn a_first_hello_without_the_name_is_refused() {
    for start in [&[], ALERT, CCS, &early_data()] {
        for other in [client_hello(None), client_hello(Some("b.org"))] {
            refused(&[start, &other], None, Refused::Name);
        }
        passes(&[start, &client_hello(Some("a.org"))], None);
    }
    // In the format of SSL 2: 46 bytes, ClientHello, version 3.3.
    refused(&[&[0x80, 46, 1, 3, 3, 0, 3]], None, Refused::Name);
    refused(&[&[0xff, 0xff, 1, 3]], None, Refused::Name);
}

#[test]
fn an_encrypted_name_is_refused() {
    // The outer ClientHello of RFC 9849, which looks the same when it is GREASE; drafts of it.
    for kind in [0xfe0d, 0xfe08, 0xffce] {
        let hidden = |name| record(HANDSHAKE, &hello(Some(name), &extension(kind, &[0; 200])));
        refused(&[&hidden("a.org")], None, Refused::HiddenName);
        refused(&[&client_hello(Some("a.org")), &hidden("a.org")], None, Refused::HiddenName);
        refused(&[&hidden("b.org")], None, Refused::Name);
    }
}

#[test]
fn nothing_is_looked_at_once_a_server_has_chosen_tls_1_3() {
    let first = client_hello(Some("a.org"));
    let mut client = Client::new();
    let is_granted = |name: Option<&str>| name == Some("a.org");
    assert_eq!(client.look(&first, None, is_granted), Ok(first.len()));
    // The start of a record is held back until it is known that none matters.
    assert_eq!(client.look(&[23, 3], None, is_granted), Ok(0));
    assert_eq!(client.look(&[3], Some(Version::Tls13), is_granted), Ok(3));
    assert!(client.is_over());
    assert_eq!(client.look(b"anything", Some(Version::Tls13), is_granted), Ok(8));
}

#[test]
fn a_handshake_of_tls_1_2_is_looked_at_until_it_is_encrypted() {
    let answered = Some(Version::Tls12OrOlder);
    let first = client_hello(Some("a.org"));
    // Certificate, ClientKeyExchange, CertificateVerify; longer than what is held back.
    let rest = [message(11, &[1; 40_000]), message(16, &[2; 32]), message(15, &[])].concat();
    for n in [1, 1000, 16_384] {
        let rest = records_of(n, &rest);
        passes(&[&first, &rest], answered);
        // Encrypted from here on, whatever it looks like.
        let encrypted =
            [&record(HANDSHAKE, &[1, 0, 0, 40, 5]), b"\x16\x03\x03\0\0anything".as_slice()];
        let all = [&first, &rest, CCS, &encrypted.concat()].concat();
        check(&all, answered, Ok((all.len(), true)));
        // Old servers took a second ClientHello here too.
        refused(&[&first, &rest, &client_hello(Some("b.org"))], answered, Refused::Name);
        // None of it comes before the server's answer.
        refused(&[&first, &rest], None, Refused::Broken);
    }
    // Before the server's answer, a change_cipher_spec says nothing.
    refused(&[&first, CCS, &client_hello(Some("b.org"))], None, Refused::Name);
}

#[test]
fn what_is_odd_is_refused() {
    let first = client_hello(Some("a.org"));
    let (start, end) = {
        let again = hello(Some("a.org"), &[]);
        (record(HANDSHAKE, &again[..50]), record(HANDSHAKE, &again[50..]))
    };
    passes(&[&first, &start, &end], None);
    // Servers differ in what they make of these.
    for between in [CCS, ALERT, &early_data(), &[HANDSHAKE, 3, 1, 0, 0]] {
        refused(&[&first, &start, between, &end], None, Refused::Broken);
    }
    refused(&[&[HANDSHAKE, 2]], None, Refused::Broken);
    refused(&[&[HANDSHAKE, 3, 1, 0, 0]], None, Refused::Broken);
    refused(&[&[HANDSHAKE, 3, 1, 0x40, 1]], None, Refused::Broken);
    refused(&[&[HANDSHAKE, 3, 1, 0, 4, 2, 0, 0, 0]], None, Refused::Broken);
    refused(&[&[HANDSHAKE, 3, 1, 0, 4, 1, 0, 0, 0]], None, Refused::Broken);
    // After TLS has begun, all is TLS.
    refused(&[&first, b"GET /"], None, Refused::Broken);
    refused(&[&first, &[25, 3, 3, 0, 1, 0]], None, Refused::Broken);
    let two_names = hello(Some("a.org"), &extension(0, &long(b"\0\0\x05a.org")));
    refused(&[&record(HANDSHAKE, &two_names)], None, Refused::Broken);
}

#[test]
fn a_hello_over_the_limit_is_refused_at_the_limit() {
    let empty = hello(Some("a.org"), &extension(21, &[])).len();
    let of = |n: usize| hello(Some("a.org"), &extension(21, &vec![0; n - empty]));
    // With the heads of one record of the largest size and a second one.
    let heads = 2 * 5;
    let largest = records_of(16_000, &of(MAX_BYTES - heads));
    assert_eq!(largest.len(), MAX_BYTES);
    passes(&[&largest], None);
    refused(&[&records_of(16_000, &of(MAX_BYTES - heads + 1))], None, Refused::Broken);
    // Records of one byte: their heads are what is held back most.
    let n = MAX_BYTES / 6;
    passes(&[&records_of(1, &of(n))], None);
    refused(&[&records_of(1, &of(n + 1))], None, Refused::Broken);
    // What is announced is refused before it comes.
    refused(&[&record(HANDSHAKE, &[1, 0, 0x40, 0])], None, Refused::Broken);
    // What comes after a ClientHello is not a part of it.
    let first = client_hello(Some("a.org"));
    passes(&[&first, &record(23, &[0; MAX_BYTES]), &first, &largest, &largest], None);
}

#[test]
fn other_protocols_are_left_alone() {
    for start in [
        b"GET / HTTP/1.1".as_slice(),
        b"SSH-2.0-x\r\n",
        &[0],
        &[25, 3, 1],
        // The high bit, and no old ClientHello behind it: Telnet (RFC 854).
        &[0xff, 0xfd, 1, 0xff],
        &[0x80, 1, 4],
    ] {
        check(start, None, Ok((start.len(), true)));
    }
    // A kind of record, and no version of TLS behind it: some servers pass over that and read on.
    for start in [b"\x14\x02".as_slice(), b"\x15\0\0\0\x01", b"\x17\x03\x03\xff\xff"] {
        check(start, None, Err(Refused::Broken));
    }
    let hello = client_hello(Some("evil.org"));
    let behind_an_alert = [&[21, 2, 0, 0, 2, 1, 90], &*hello].concat();
    check(&behind_an_alert, None, Err(Refused::Broken));
    // Nothing that is short waits for more.
    for start in [&[0xff], [0xff, 0xfd].as_slice(), &[0xff, 0xfd, 1]] {
        check(start, None, Ok((start.len(), false)));
    }
}

#[test]
fn a_server_tells_which_version_it_has_chosen() {
    let retry = server_hello(
        &[
            0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65,
            0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2,
            0xc8, 0xa8, 0x33, 0x9c,
        ],
        &extension(43, &[3, 4]),
    );
    let new = server_hello(&[1; 32], &extension(43, &[3, 4]));
    let old = server_hello(&[1; 32], &extension(0xff01, &[0]));
    let certificate = message(11, &[0; 30_000]);
    let check = |parts: &[&[u8]], expect: Option<Version>, is_over: bool| {
        let bytes = parts.concat();
        for n in [1, 3, bytes.len()] {
            let mut server = Server::new();
            let found = bytes.chunks(n).find_map(|it| server.look(it));
            assert_eq!((found, server.is_over()), (expect, is_over), "parts of {n}");
        }
    };
    for n in [1, 70, 10_000] {
        let records = |messages: &[&[u8]]| records_of(n, &messages.concat());
        check(&[&records(&[&new])], Some(Version::Tls13), true);
        check(&[&records(&[&old])], Some(Version::Tls12OrOlder), true);
        check(&[ALERT, &records(&[&message(0, &[]), &old])], Some(Version::Tls12OrOlder), true);
        check(&[&records(&[&retry])], None, false);
        check(&[&records(&[&retry]), CCS], None, false);
        check(&[&records(&[&retry]), CCS, &records(&[&new])], Some(Version::Tls13), true);
        check(&[&records(&[&old, &certificate])], Some(Version::Tls12OrOlder), true);
    }
    check(&[b"SSH-2.0-x\r\n"], None, true);
    check(&[b"HTTP/1.1 400 Bad Request\r\n"], None, true);
    check(&[&records_of(9, &message(2, &[3, 3]))], None, true);
    // An older ServerHello may have no extensions at all.
    let body = [[3, 1].as_slice(), &[9; 32], &[0, 0, 47, 0]].concat();
    check(&[&records_of(9, &message(2, &body))], Some(Version::Tls12OrOlder), true);
}

/// A part of what a client sends.
fn part() -> impl Strategy<Value = Vec<u8>> {
    let hellos = [
        hello(Some("a.org"), &[]),
        hello(Some("a.org"), &extension(0x1a1a, &[0; 300])),
        hello(Some("b.org"), &[]),
        hello(None, &[]),
        hello(Some("a.org"), &extension(0xfe0d, &[0; 20])),
        message(16, &[2; 32]),
    ];
    prop_oneof![
        8 => (prop::sample::select(hellos.to_vec()), 1..400usize)
            .prop_map(|(it, n)| records_of(n, &it)),
        2 => Just(CCS.to_vec()),
        1 => Just(ALERT.to_vec()),
        2 => vec(any::<u8>(), 0..60).prop_map(|it| record(23, &it)),
        1 => vec(any::<u8>(), 1..8),
    ]
}

fn answer() -> impl Strategy<Value = Option<Version>> {
    prop::sample::select(vec![None, Some(Version::Tls12OrOlder)])
}

proptest! {
    #[test]
    fn any_segments_give_the_same_verdict(
        parts in vec(part(), 1..6),
        changed in proptest::option::of((any::<prop::sample::Index>(), any::<u8>())),
        cuts in vec(any::<prop::sample::Index>(), 0..12),
        answered in answer(),
    ) {
        let mut bytes = parts.concat();
        if let Some((at, byte)) = changed {
            *at.get_mut(&mut bytes) = byte;
        }
        let mut cuts: Vec<_> = cuts.iter().map(|it| it.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let segments: Vec<_> = cuts.windows(2).map(|it| &bytes[it[0]..it[1]]).collect();
        let whole = look(&[&bytes], answered);
        prop_assert_eq!(&look(&segments, answered), &whole);
        prop_assert_eq!(&look(&bytes.chunks(1).collect::<Vec<_>>(), answered), &whole);
        if let Ok((passed, _)) = whole {
            prop_assert!(bytes.starts_with(&passed));
        }
    }

    #[test]
    fn any_records_give_the_same_verdict(
        names in vec(prop::sample::select(vec![Some("a.org"), Some("b.org"), None]), 1..4),
        lengths in vec(1..600usize, 1..8),
        answered in answer(),
    ) {
        let messages: Vec<u8> = names.iter().flat_map(|it| hello(*it, &[])).collect();
        let mut lengths = lengths.into_iter().cycle();
        let mut rest = messages.as_slice();
        let mut bytes = Vec::new();
        while !rest.is_empty() {
            let (content, next) = rest.split_at(rest.len().min(lengths.next().unwrap_or(1)));
            bytes.extend(record(HANDSHAKE, content));
            rest = next;
        }
        let expect = match names.iter().all(|it| *it == Some("a.org")) {
            true => Ok((bytes.clone(), false)),
            false => Err(Refused::Name),
        };
        prop_assert_eq!(look(&[&bytes], answered), expect);
    }

    #[test]
    fn a_server_is_understood_however_it_is_cut(bytes in vec(any::<u8>(), 0..40), n in 1..40usize) {
        for start in [records_of(n, &server_hello(&[1; 32], &extension(43, &[3, 4]))), Vec::new()] {
            let bytes = [start, bytes.clone()].concat();
            let found = |n| {
                let mut server = Server::new();
                let found = bytes.chunks(n).find_map(|it| server.look(it));
                (found, server.is_over())
            };
            prop_assert_eq!(found(n), found(1));
        }
    }
}
