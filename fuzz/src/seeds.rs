//! Inputs to begin with: what lies below `fixtures/`, in the form that a decoder reads.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

/// Bytes of a fixture that is used: larger ones say nothing that smaller ones do not.
const MAX_SEED_BYTES: u64 = 16 << 10;

/// Requests of clients of the proxy, and the beginning of a ClientHello (RFC 8446, 4.1.2).
const REQUESTS: &[&[u8]] = &[
    b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n",
    b"GET http://example.org/a?b HTTP/1.1\r\nHost: example.org\r\nConnection: x\r\nX: y\r\n\r\n",
    b"POST http://example.org/ HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc",
    b"\x05\x01\x00\x05\x01\x00\x03\x0bexample.org\x01\xbb",
    b"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50",
];

/// What programs of plugins print.
const MESSAGES: &[&[u8]] = &[
    br#"{"jsonrpc":"2.0","id":1,"result":{"output":"x"}}"#,
    br#"{"jsonrpc":"2.0","id":"1","result":{"output":"x","data":{"a":[1]}}}"#,
    br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such tool","data":null}}"#,
    br#"{"jsonrpc":"2.0","method":"progress","params":{"id":1,"progress":0.5,"message":"half"}}"#,
];

/// The inputs that a decoder begins with. `fixtures` is the directory of that name.
///
/// # Errors
///
/// A fixture cannot be read.
pub fn seeds(target: &str, fixtures: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut res = match target {
        "proxy" => REQUESTS.iter().map(|it| it.to_vec()).collect(),
        "message" => MESSAGES.iter().map(|it| it.to_vec()).collect(),
        "tls" => vec![client_hello()],
        // A setup of the current version, and one self-mount.
        "records" => vec![b"\x01\x01".to_vec(), [&[1; 17][..], b"/a\0"].concat()],
        _ => Vec::new(),
    };
    let mut files = Vec::new();
    find_json(fixtures, &mut files)?;
    files.sort();
    for file in files {
        if fs::metadata(&file)?.len() > MAX_SEED_BYTES {
            continue;
        }
        let bytes = fs::read(&file)?;
        match target {
            "json" | "configuration" | "exec_tools" | "manifest" => res.push(bytes),
            "schema" | "template" | "variables" => {
                if let Ok(value) = serde_json::from_slice(&bytes) {
                    parts(target, &value, &mut res);
                }
            }
            _ => {}
        }
    }
    res.sort();
    res.dedup();
    Ok(res)
}

fn find_json(dir: &Path, res: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            find_json(&entry.path(), res)?;
        } else if entry.path().extension().is_some_and(|it| it == "json") {
            res.push(entry.path());
        }
    }
    Ok(())
}

/// The parts of a manifest that a decoder of its own reads.
fn parts(target: &str, value: &Value, res: &mut Vec<Vec<u8>>) {
    let members = value.as_object().into_iter().flatten();
    for (key, value) in members {
        match (target, key.as_str(), value) {
            ("schema", "input_schema" | "output_schema" | "parameters", _) => {
                res.push(json!([value, {"path": "a", "count": 1}]).to_string().into_bytes());
            }
            ("template", "command", Value::String(text)) => res.push(text.clone().into_bytes()),
            ("variables", "env", Value::Object(env)) => {
                res.extend(env.values().filter_map(|it| Some(it.as_str()?.as_bytes().to_vec())));
            }
            _ => parts(target, value, res),
        }
    }
    for item in value.as_array().into_iter().flatten() {
        parts(target, item, res);
    }
}

/// A ClientHello that names `a.example` and offers TLS 1.3.
fn client_hello() -> Vec<u8> {
    let name = b"a.example";
    let length = |n: usize| u16::try_from(n).expect("it is short").to_be_bytes();
    let list = [&[0][..], &length(name.len()), name].concat();
    let names = [&length(list.len())[..], &list].concat();
    let server_name = [&[0, 0][..], &length(names.len()), &names].concat();
    let versions = [0, 43, 0, 3, 2, 3, 4];
    let extensions = [&server_name[..], &versions].concat();
    let body =
        [&[3, 3][..], &[7; 32], &[0, 0, 2, 0x13, 1, 1, 0], &length(extensions.len()), &extensions]
            .concat();
    let hello = [&[1, 0][..], &length(body.len()), &body].concat();
    [&[22, 3, 1][..], &length(hello.len()), &hello].concat()
}
