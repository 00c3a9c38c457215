//! What has no name and looks like a token.
//!
//! Half of all tokens have no prefix: 32 digits and letters, no more. Alone on a command line they are told from other
//! text by four signs together: no blank in 16 to 300 characters; entropy of more than 3.1 bits per character;
//! digits between letters, or letters whose pairs are rare in words; and nothing around that says "digest", "path" or
//! "file". The tier is [`Tier::Note`], since an id of a database looks the same.

use std::{borrow::Cow, ops::Range};

use super::{Finding, MAX_DEPTH, Piece, Scan};
use crate::{
    ScanError, Tier, View,
    literal::{
        Make, case_switches, distinct, entropy, is_hex, is_stand_in, is_uuid, is_wordy, switches,
    },
};

/// A shorter run is not looked at.
///
/// In bytes; shorter ones are not decoded either.
const MIN_RUN_BYTES: usize = 12;

/// A shorter run is no token without a name.
const MIN_BYTES: usize = 16;

/// A longer run is data: an image, a program.
const MAX_BYTES: usize = 300;

/// Bits per byte below which a run repeats itself.
const MIN_ENTROPY: f64 = 3.1;

/// How far a word that says "digest" stands before one, in bytes.
const CONTEXT_BYTES: usize = 48;

/// What tokens are made of.
const IS_TOKEN: [bool; 256] = {
    let mut res = [false; 256];
    let mut i = 0;
    while i < 256 {
        let it = i as u8;
        res[i] = it.is_ascii_alphanumeric()
            || matches!(it, b'_' | b'+' | b'/' | b'=' | b'.' | b'~' | b'-');
        i += 1;
    }
    res
};

impl Scan<'_> {
    /// Goes over the runs of characters that tokens are made of.
    ///
    /// Each run is decoded where it can be, turned round where the text does so, and judged by
    /// [`opaque`].
    pub(super) fn runs(&mut self, piece: &Piece<'_>, is_reversed: bool) -> Result<(), ScanError> {
        let text = piece.text;
        let mut at = 0;
        // What was decoded with the lines before it.
        let mut decoded_end = 0;
        // A run of so many bytes holds every so many-th byte: most others are never looked at.
        while let Some(probe) = text.get(at + MIN_RUN_BYTES - 1) {
            if !IS_TOKEN[usize::from(*probe)] {
                at += MIN_RUN_BYTES;
                continue;
            }
            let probe = at + MIN_RUN_BYTES - 1;
            let is_token = |it: &&u8| IS_TOKEN[usize::from(**it)];
            let start = probe - text[at..probe].iter().rev().take_while(is_token).count();
            at = probe + text[probe..].iter().take_while(is_token).count();
            let run = start..at;
            if run.len() < MIN_RUN_BYTES {
                continue;
            }
            if piece.depth < MAX_DEPTH && start >= decoded_end {
                decoded_end = self.encoded(piece, &run)?;
            }
            if is_reversed && piece.depth < MAX_DEPTH {
                let turned: Vec<u8> = text[run.clone()].iter().rev().copied().collect();
                self.decoded(piece, run.clone(), View::Reversed, &turned)?;
            }
            // A UUID is an id where it stands, and a secret where it is hidden.
            let is_hidden_uuid = piece.depth > 0
                && run.len() == text.trim_ascii().len()
                && piece.view != View::Percent
                && is_uuid(&text[run.clone()]);
            let secret = if is_hidden_uuid { Some(run) } else { opaque(text, run) };
            if let Some(secret) = secret {
                let finding = Finding {
                    rule: "opaque",
                    label: Cow::Borrowed("text that looks like a token"),
                    tier: Tier::Note,
                    variable: None,
                    secret,
                };
                self.add(piece, finding);
            }
        }
        Ok(())
    }
}

/// The part of a run that looks like a token.
///
/// Edges that a sentence or a path adds are cut off first. `None` for what is too short or too
/// long, regular, a path, a digest, a placeholder or the head of a file.
fn opaque(text: &[u8], mut run: Range<usize>) -> Option<Range<usize>> {
    let is_edge = |it: u8| matches!(it, b'.' | b'/' | b'~' | b'-' | b'+' | b'_');
    // `NAME=value`: the value.
    let name = text[run.clone()]
        .iter()
        .take_while(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-' | b'.'))
        .count();
    let follows = text[run.start + name..run.end].first() == Some(&b'=');
    if follows && run.start + name + 1 < run.end && is_name(&text[run.start..run.start + name]) {
        run.start += name + 1;
    }
    while run.len() > 1 && (is_edge(text[run.start]) || text[run.start] == b'=') {
        // A path, or the rest of a URL.
        if text[run.start] == b'/' {
            return None;
        }
        run.start += 1;
    }
    while run.len() > 1 && is_edge(text[run.end - 1]) {
        run.end -= 1;
    }
    if run.len() < MIN_BYTES || run.len() > MAX_BYTES {
        return None;
    }
    let token = &text[run.clone()];
    let make = Make::of(token);
    let longest =
        token.split(|it| !it.is_ascii_alphanumeric()).max_by_key(|it| it.len()).unwrap_or_default();
    // Cheap looks first: names of a program are the most of all runs.
    if make.letters() == 0 || (make.digits < 2 && longest.len() < 18) {
        return None;
    }
    let is_token = if longest.len() < 8 {
        // Groups, as of a licence key.
        token.len() >= 20 && make.digits >= 4 && switches(token) >= 6
    } else if token.len() < 20 {
        longest.len() >= 12 && make.digits >= 3 && switches(longest) >= 4
    } else {
        (make.digits >= 2
            && switches(longest) >= 3
            && (make.digits >= 4 || !is_wordy(longest) || case_switches(longest) >= 5))
            || (longest.len() >= 18 && case_switches(longest) >= 5 && !is_wordy(longest))
            || (longest.len() >= 24 && distinct(longest) >= 10 && !is_wordy(longest))
    };
    if !is_token || is_uuid(token) || is_path(token) || is_file_data(token) {
        return None;
    }
    let repeats = distinct(token) < 8 || entropy(token) < MIN_ENTROPY;
    if repeats || is_stand_in(token) || is_digest(text, &run) {
        return None;
    }
    Some(run)
}

/// Whether this is a name to which something is assigned.
///
/// `PATH` of `PATH=value`; not the start of Base64 that has `=` behind it.
fn is_name(text: &[u8]) -> bool {
    let make = Make::of(text);
    text.first().is_some_and(u8::is_ascii_alphabetic)
        && (make.digits * 4 <= text.len())
        && (is_wordy(text) || text.len() < 24)
}

/// Whether a run is a path or a file's name and not Base64 with slashes in it.
///
/// At least half of its parts look like words, or it ends as a file does.
fn is_path(token: &[u8]) -> bool {
    #[rustfmt::skip] // A list reads best as one.
    const ENDINGS: &[&[u8]] = &[
        b".gz", b".tgz", b".zip", b".xz", b".bz2", b".json", b".txt", b".yaml", b".yml", b".sh", b".py", b".js",
        b".css", b".html", b".log", b".md", b".so", b".deb", b".rpm", b".jar", b".whl", b".png", b".jpg", b".svg",
        b".exe", b".dll", b".tar", b".toml", b".rs", b".go", b".com", b".org", b".net", b".io", b".dev", b".ts",
        b".cfg", b".conf", b".xml", b".c", b".h", b".map", b".pem", b".crt", b".csv", b".sql", b".lock", b".iso",
        b".img", b".apk", b".pdf",
    ];
    let lower = token.to_ascii_lowercase();
    if ENDINGS.iter().any(|it| lower.ends_with(it)) {
        return true;
    }
    let n_slashes = token.iter().filter(|it| **it == b'/').count();
    if n_slashes == 0 {
        return false;
    }
    // Of random characters one part in ten is short or a word by chance.
    let parts = token.split(|it| *it == b'/').filter(|it| !it.is_empty());
    let (mut n, mut plain) = (0, 0);
    for part in parts {
        let make = Make::of(part);
        n += 1;
        plain += usize::from(
            part.len() < 24
                && make.digits * 3 <= part.len()
                && is_wordy(part)
                && case_switches(part) < 4,
        );
    }
    plain * 2 >= n
}

/// Whether Base64 begins as that of a common file does: an image, an archive, a font, a program, XML.
fn is_file_data(token: &[u8]) -> bool {
    #[rustfmt::skip] // A list reads best as one.
    const HEADS: &[&[u8]] = &[
        b"iVBORw0KGgo", b"/9j/", b"R0lGOD", b"UEsDB", b"H4sI", b"JVBERi0", b"d09GM", b"PHN2Zy", b"PD94bW", b"TVqQ",
        b"UklGR", b"AAABAA", b"f0VMRg", b"QlpoO", b"/Td6WFo",
    ];
    HEADS.iter().any(|it| token.starts_with(it))
}

/// Whether a run is a digest or an id of version control, by what stands around it.
///
/// At most [`CONTEXT_BYTES`] before it are looked at, in lower case.
fn is_digest(text: &[u8], run: &Range<usize>) -> bool {
    let token = &text[run.clone()];
    let lower = token.to_ascii_lowercase();
    if [&b"sha1-"[..], b"sha256-", b"sha384-", b"sha512-", b"sha256:", b"h1:"]
        .iter()
        .any(|it| lower.starts_with(it))
    {
        return true;
    }
    let is_plain_hex = is_hex(token) && matches!(token.len(), 32 | 40 | 48 | 56 | 64 | 96 | 128);
    let is_base64 =
        token.ends_with(b"=") || matches!(token.len(), 27 | 28 | 43 | 44 | 64 | 86 | 88);
    let is_short_id = is_hex(token) && token.len() < 41;
    if !is_plain_hex && !is_base64 && !is_short_id {
        return false;
    }
    // `digest  file`, as sha256sum writes it.
    let behind = &text[run.end..text.len().min(run.end + 3)];
    if is_plain_hex && (behind.starts_with(b"  ") || behind.starts_with(b" *")) {
        return true;
    }
    let from = run.start.saturating_sub(CONTEXT_BYTES);
    let before = text[from..run.start].to_ascii_lowercase();
    #[rustfmt::skip] // A list reads best as one.
    const WORDS: &[&[u8]] = &[
        b"sha1", b"sha2", b"sha3", b"sha5", b"sha-", b"sha:", b"sha=", b"sha ", b"_sha", b"md5", b"digest",
        b"checksum", b"commit", b"integrity", b"checkout", b"revision", b"rev-", b"rev=", b"rev ", b"ref=", b"ref ",
        b"ref:", b"hash", b"etag", b"fingerprint", b"blob", b"tree", b"version", b"cherry-pick", b"git reset",
        b"h1:", b"nonce=", b"@", b"thumbprint", b"cksum", b"sum=", b"b2sum", b"keyid", b"key-id", b"recv-key",
        b"keyserver", b"gpg_key", b"gpg key", b"pubkey", b"public", b"build-id", b"image",
    ];
    WORDS.iter().any(|it| memchr::memmem::find(&before, it).is_some())
}
