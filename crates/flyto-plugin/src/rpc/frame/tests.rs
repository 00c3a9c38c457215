use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn requested(id: u64, tool: &str, args: &str) -> String {
    let mut buf = Vec::new();
    request(&mut buf, id, tool, args);
    String::from_utf8(buf).expect("made of texts")
}

#[track_caller]
fn check(line: &str, expect: Expect) {
    expect.assert_eq(&format!("{:?}", parse(line.as_bytes())));
}

#[test]
fn requests_are_exact() {
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"execute","params":{"tool":"solve","args":{"z": 1.0, "a":1e2,"big":123456789012345678901234567890}}}
    "#]]
    .assert_eq(&requested(1, "solve", r#"{"z": 1.0, "a":1e2,"big":123456789012345678901234567890}"#));
    expect![[r#"
        {"jsonrpc":"2.0","id":18446744073709551615,"method":"execute","params":{"tool":"a\"b\\c\n","args":[ 1,  "x\ny" ]}}
    "#]]
    .assert_eq(&requested(u64::MAX, "a\"b\\c\n", "[ 1,\r\n\"x\\ny\"\n]"));
    let mut buf = b"before\n".to_vec();
    cancel(&mut buf, 7);
    ping(&mut buf, 8);
    expect![[r#"
        before
        {"jsonrpc":"2.0","method":"cancel","params":{"id":7}}
        {"jsonrpc":"2.0","id":8,"method":"ping","params":{}}
    "#]]
    .assert_eq(&String::from_utf8(buf).expect("text"));
}

#[test]
fn answers() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"output":"a\nb"}}"#,
        expect![[
            r#"Some(Response { id: Number(1), outcome: Ok(Output { text: "a\nb", data: None, content: None }) })"#
        ]],
    );
    check(
        r#" {"jsonrpc": "2.0", "id": "7", "result": {"output": "", "data": {"n": [1]}, "more": 1}, "error": null} "#,
        expect![[
            r#"Some(Response { id: Number(7), outcome: Ok(Output { text: "", data: Some(Object {"n": Array [Number(1)]}), content: None }) })"#
        ]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1.0,"error":{"code":-32000,"message":"no","data":{"hint":"x"}}}"#,
        expect![[
            r#"Some(Response { id: Number(1), outcome: Err(RpcError { code: -32000, message: "no", data: Some(Object {"hint": String("x")}) }) })"#
        ]],
    );
    check(
        r#"{"jsonrpc":"1.0","result":{"output":"a"},"error":{"code":1.0,"message":"wins"}}"#,
        expect![[
            r#"Some(Response { id: Missing, outcome: Err(RpcError { code: 1, message: "wins", data: None }) })"#
        ]],
    );
    // Without the version, but in order.
    check(
        r#"{"id":null,"result":{"output":"a"}}"#,
        expect![[
            r#"Some(Response { id: Missing, outcome: Ok(Output { text: "a", data: None, content: None }) })"#
        ]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":"abc","result":{"output":"lone \udcff half"}}"#,
        expect![[
            r#"Some(Response { id: Other, outcome: Ok(Output { text: "lone ��� half", data: None, content: None }) })"#
        ]],
    );
}

#[test]
fn bytes_that_are_no_text_cost_themselves_only() {
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"output\":\"caf\xe9\"}}\r\n";
    expect![[
        r#"Some(Response { id: Number(1), outcome: Ok(Output { text: "caf�", data: None, content: None }) })"#
    ]]
    .assert_eq(&format!("{:?}", parse(line)));
}

#[test]
fn malformed_answers_say_why() {
    let why = |rest: &str| match parse(format!(r#"{{"jsonrpc":"2.0","id":3,{rest}}}"#).as_bytes()) {
        Some(Message::Malformed { id: Id::Number(3), why }) => why,
        other => panic!("{other:?}"),
    };
    let lines: String = [
        r#""result":"text""#,
        r#""result":{}"#,
        r#""result":{"output":5}"#,
        r#""result":{"output":null}"#,
        r#""result":{"output":["a"]}"#,
        r#""result":{"output":"a","output":"b"}"#,
        r#""error":"text""#,
        r#""error":{"message":"m"}"#,
        r#""error":{"code":"1","message":"m"}"#,
        r#""error":{"code":1.5,"message":"m"}"#,
        r#""error":{"code":1}"#,
        r#""error":{"code":1,"message":{}}"#,
        r#""error":false"#,
    ]
    .iter()
    .map(|rest| format!("{rest}: {}\n", why(rest)))
    .collect();
    expect![[r#"
        "result":"text": "result" must be an object with "output", found a string
        "result":{}: "result" has no "output"
        "result":{"output":5}: "output" must be a string, found a number
        "result":{"output":null}: "result" has no "output"
        "result":{"output":["a"]}: "output" must be a string, found an array
        "result":{"output":"a","output":"b"}: "result" is wrong: duplicate field `output` at line 1 column 22
        "error":"text": "error" must be an object with "code" and "message", found a string
        "error":{"message":"m"}: "code" of the error must be a whole number, found none
        "error":{"code":"1","message":"m"}: "code" of the error must be a whole number, found a string
        "error":{"code":1.5,"message":"m"}: "code" of the error must be a whole number from -9223372036854775808 to 9223372036854775807, found another number
        "error":{"code":1}: "message" of the error must be a string, found none
        "error":{"code":1,"message":{}}: "message" of the error must be a string, found an object
        "error":false: "error" must be an object with "code" and "message", found a truth value
    "#]].assert_eq(&lines);
    let deep =
        format!(r#""result":{{"output":"a","data":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    expect![[r#""data" cannot be read: recursion limit exceeded at line 1 column 128"#]]
        .assert_eq(&why(&deep));
}

#[test]
fn progress_of_calls() {
    check(
        r#"{"jsonrpc":"2.0","method":"progress","params":{"id":2,"progress":0.5,"detail":"half"}}"#,
        expect![[r#"Some(Progress { id: Number(2), progress: 0.5, detail: "half" })"#]],
    );
    check(
        r#"{"method":"progress","params":{"id":"2","progress":1,"detail":null}}"#,
        expect![[r#"Some(Progress { id: Number(2), progress: 1.0, detail: "" })"#]],
    );
    check(r#"{"jsonrpc":"2.0","method":"progress","params":{"id":2}}"#, expect!["None"]);
    check(
        r#"{"jsonrpc":"2.0","method":"progress","params":[2,0.5]}"#,
        expect![[r#"Some(Progress { id: Number(2), progress: 0.5, detail: "" })"#]],
    );
    check(r#"{"jsonrpc":"2.0","method":"progress"}"#, expect!["None"]);
}

#[test]
fn other_lines_are_no_messages() {
    for line in [
        "",
        "  ",
        "working…",
        "{}",
        "{working on it, please wait a moment}",
        r#"{"jsonrpc":"2.0","id":1,"result":null,"error":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"execute","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"output":"a"}} trailing"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"output":"a"}"#,
        r#"[{"jsonrpc":"2.0","id":1,"result":{"output":"a"}}]"#,
        r#"{"level":"info","result":"ok","message":"a line of a log"}"#,
        r#"{"level":"error","error":{"message":"of a log"},"id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"result":{"output":"a"}}"#,
    ] {
        assert_eq!(parse(line.as_bytes()), None, "{line}");
    }
}

#[test]
fn nesting_costs_no_stack() {
    let deep = "[".repeat(1_000_000);
    for key in ["jsonrpc", "result", "error", "more"] {
        let line = format!(r#"{{"{key}":{deep}{},"id":1}}"#, "]".repeat(deep.len()));
        assert!(!matches!(parse(line.as_bytes()), Some(Message::Response { .. })), "{key}");
        assert_eq!(parse(format!(r#"{{"{key}":{deep}}}"#).as_bytes()), None, "{key}");
    }
}

#[test]
fn ids() {
    let read = |id: &str| {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"output":"a"}}}}"#);
        match parse(line.as_bytes()) {
            Some(Message::Response { id, .. }) => id,
            other => panic!("{other:?}"),
        }
    };
    for id in ["7", r#""7""#, "7.0", r#""7.0""#, "0.7e1"] {
        assert_eq!(read(id), Id::Number(7), "{id}");
    }
    assert_eq!(read("18446744073709551615"), Id::Number(u64::MAX));
    assert_eq!(read("null"), Id::Missing);
    for id in ["-7", "7.5", "1e300", r#""x""#, r#""""#, r#""nan""#, "[7]", "{}", "true"] {
        assert_eq!(read(id), Id::Other, "{id}");
    }
}

/// Any JSON, with numbers that survive.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(".*", inner, 0..4)
                .prop_map(|it| it.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn a_request_is_one_line_that_says_the_same(id: u64, tool in ".*", args in any_json(), pretty: bool) {
        let text = if pretty { format!("{args:#}") } else { args.to_string() };
        let line = requested(id, &tool, &text);
        prop_assert_eq!(line.matches(['\n', '\r']).count(), 1);
        let read: Value = serde_json::from_str(&line).expect("JSON");
        let params = json!({"tool": tool, "args": args});
        let expect = json!({"jsonrpc": "2.0", "id": id, "method": "execute", "params": params});
        prop_assert_eq!(&read, &expect);
        if !pretty {
            prop_assert_eq!(line, format!("{expect}\n"));
        }
    }

    #[test]
    fn an_answer_is_read_back(id: u64, output in ".*", data in any_json(), escaped: bool, has_data: bool) {
        let mut message = json!({"jsonrpc": "2.0", "id": id, "result": {"output": output}});
        if has_data {
            message["result"]["data"] = data.clone();
        }
        let mut line = message.to_string();
        if escaped {
            line = ascii(&line);
        }
        let data = Some(data).filter(|it| has_data && !it.is_null());
        let outcome = Ok(Output { text: output, data, content: None });
        prop_assert_eq!(parse(line.as_bytes()), Some(Message::Response { id: Id::Number(id), outcome }));
    }

    #[test]
    fn an_error_is_read_back(id: u64, code: i64, message in ".*", data in any_json()) {
        let error = json!({"code": code, "message": message, "data": data});
        let line = json!({"jsonrpc": "2.0", "error": error, "id": id.to_string()}).to_string();
        let data = Some(data).filter(|it| !it.is_null());
        let outcome = Err(RpcError { code, message, data });
        prop_assert_eq!(parse(line.as_bytes()), Some(Message::Response { id: Id::Number(id), outcome }));
    }

    #[test]
    fn no_bytes_are_too_much(bytes: Vec<u8>) {
        parse(&bytes);
        // Past the looks at the ends.
        parse(&[&b"{\"jsonrpc\":\"2.0\","[..], &bytes, b",\"id\":1}"].concat());
    }

    #[test]
    fn no_text_like_a_message_is_too_much(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", ":", ",", "\"", "\"jsonrpc\"", "\"2.0\"", "\"id\"", "1", "null",
                "\"method\"", "\"progress\"", "\"params\"", "\"result\"", "\"output\"", "\"error\"",
                "\"code\"", "\"message\"", "\"data\"", "\"\\ud800\"", "\\", "1e999", "-", "true", " ",
            ]),
            0..24,
        ),
    ) {
        parse(parts.concat().as_bytes());
        parse(format!("{{{}}}", parts.concat()).as_bytes());
    }
}

/// Messages of every kind with bytes changed.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let messages = prop::sample::select(vec![
        r#"{"jsonrpc":"2.0","id":1,"result":{"output":"a\nb \u00e9 \"q\" text"}}"#,
        r#"{"jsonrpc": "2.0", "id": "7", "result": {"output": "x", "data": {"n": [1, null]}}}"#,
        r#"{"jsonrpc":"2.0","id":2.0,"error":{"code":-32000,"message":"no","data":[true]}}"#,
        r#"{"jsonrpc":"2.0","method":"progress","params":{"id":1,"progress":0.25,"detail":"d"}}"#,
        r#"{"id":3,"result":{"output":"one"},"error":null}"#,
    ]);
    let pieces = prop::sample::select(vec![
        "",
        "\"",
        "\\",
        "{",
        "}",
        ",",
        ":",
        "null",
        "0",
        "-",
        "e9",
        "\\ud800",
        "\\u0000",
        "ü",
        " ",
        "\n",
        r#""id":9,"#,
        r#""output":"two","#,
        r#""error":1,"#,
    ]);
    let new = prop_oneof![
        4 => pieces.prop_map(|it| it.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..3),
    ];
    let change = (any::<prop::sample::Index>(), 0usize..6, new);
    (messages, prop::collection::vec(change, 1..4)).prop_map(|(text, changes)| {
        let mut res = text.as_bytes().to_vec();
        for (at, n_bytes, new) in changes {
            let at = at.index(res.len() + 1);
            let end = res.len().min(at + n_bytes);
            res.splice(at..end, new);
        }
        res
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn what_is_read_is_what_is_written(line in mutated()) {
        let message = parse(&line);
        let lossy = String::from_utf8_lossy(&line);
        // Half a surrogate pair is read here, and a number beyond all numbers passed over, and neither
        // by this reader.
        let Ok(written) = serde_json::from_str::<Value>(lossy.trim_ascii()) else {
            let is_lenient = lossy.contains("\\u") || lossy.contains("e9");
            prop_assert!(message.is_none() || is_lenient, "{:?}", message);
            return Ok(());
        };
        match message {
            Some(Message::Response { id, outcome: Ok(Output { text, data, .. }) }) => {
                prop_assert_eq!(written["result"]["output"].as_str(), Some(&*text));
                prop_assert_eq!(data.as_ref().unwrap_or(&Value::Null), &written["result"]["data"]);
                prop_assert!(written["error"].is_null() && written["method"].is_null());
                is_written(id, &written["id"])?;
            }
            Some(Message::Response { id, outcome: Err(RpcError { code, message, data }) }) => {
                let error = &written["error"];
                prop_assert_eq!(error["code"].as_f64(), Some(code as f64));
                prop_assert_eq!(error["message"].as_str(), Some(&*message));
                prop_assert_eq!(data.as_ref().unwrap_or(&Value::Null), &error["data"]);
                is_written(id, &written["id"])?;
            }
            Some(Message::Malformed { id, why }) => {
                prop_assert!(!written["jsonrpc"].is_null() && !why.is_empty());
                is_written(id, &written["id"])?;
            }
            Some(Message::Progress { id, progress, detail }) => {
                let params = &written["params"];
                prop_assert_eq!(&written["method"], "progress");
                prop_assert_eq!(params["progress"].as_f64(), Some(progress));
                prop_assert_eq!(params["detail"].as_str().unwrap_or_default(), detail);
                is_written(id, &params["id"])?;
            }
            None => {}
        }
    }
}

fn is_written(id: Id, written: &Value) -> Result<(), TestCaseError> {
    let number = match written {
        Value::String(text) => text.parse().ok(),
        value => value.as_f64(),
    };
    match id {
        Id::Number(id) => prop_assert_eq!(number, Some(id as f64)),
        Id::Missing => prop_assert!(written.is_null()),
        Id::Other => prop_assert!(!written.is_null()),
    }
    Ok(())
}

/// The text with everything beyond ASCII escaped, as many languages write JSON.
fn ascii(text: &str) -> String {
    let mut res = String::new();
    for c in text.chars() {
        if c.is_ascii() {
            res.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                res.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    res
}
