//! What a program answered, as a result.
//!
//! Used by both lifetimes, so that an answer reads the same from a process of one call and from
//! a session.

use flyto_tools::{Content, Failure, ToolResult, json_value};

use super::frame::{Output, RpcError};
use crate::result::Declares;

/// The result of the tool `name`. An error of the program is `error (code C): MESSAGE`, and nothing else.
/// `data` wins over JSON in the text. With an output schema and without `data` the text has to be JSON. `content` counts for a tool
/// that declares blocks, which may also give a text.
pub(crate) fn result(
    name: &str,
    outcome: Result<Output, RpcError>,
    declares: Declares,
) -> ToolResult {
    let (mut res, data) = match outcome {
        Ok(Output { content: Some(list), data, .. }) => {
            if declares != Declares::Blocks {
                return bad(
                    name,
                    "\"result\" has no \"output\", and the tool declares no \"content\"",
                );
            }
            let content = Content::checked(list);
            if data.is_none() {
                return ToolResult::content(content);
            }
            let blocks = content.known();
            (ToolResult::text(content.text).with_blocks(blocks), data)
        }
        Ok(Output { text, data: None, .. }) if declares == Declares::Json => {
            match json_value(&text) {
                Ok(data) => (ToolResult::text(text), Some(data)),
                Err(err) => {
                    let why = format!("\"output\" is no JSON: {err}\noutput: {text}");
                    (bad(name, &why), None)
                }
            }
        }
        Ok(Output { text, data, .. }) => (ToolResult::text(text), data),
        Err(RpcError { code, message, data }) => {
            let text = format!("error (code {code}): {message}");
            (ToolResult::failed(Failure::Reported { code: Some(code) }, text), data)
        }
    };
    res.data = data;
    res
}

/// A result that says what is wrong with the answer.
/// The failure is [`Failure::BadOutput`]: the program ran, and what it said cannot be used.
pub(crate) fn bad(name: &str, why: &str) -> ToolResult {
    ToolResult::failed(Failure::BadOutput, format!("plugin tool {name:?}: {why}"))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(outcome: Result<Output, RpcError>, prints_json: bool, expect: Expect) {
        let declares = if prints_json { Declares::Json } else { Declares::Text };
        let res = result("p:t", outcome, declares);
        let failure = res.failure.map_or_else(|| "ok".to_owned(), |it| it.to_string());
        let data = res.data.map(|it| it.to_string());
        expect.assert_eq(&format!("{failure}: {:?} {data:?}", res.output));
    }

    fn output(text: &str, data: Option<serde_json::Value>) -> Result<Output, RpcError> {
        Ok(Output { text: text.to_owned(), data, content: None })
    }

    #[test]
    fn content_counts_where_it_is_declared() {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let reply = |declares, data| {
            let content = Some(vec![image.clone()]);
            let outcome = Ok(Output { text: String::new(), data, content });
            let ToolResult { output, data, blocks, .. } = result("p:t", outcome, declares);
            format!("{output:?} {} {}", json!(data), json!(blocks))
        };
        expect![[r#""[image, image/png, 3 bytes]" {"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]} []"#]].assert_eq(&reply(Declares::Blocks, None));
        expect![[r#""[image, image/png, 3 bytes]" {"n":1} [{"type":"image","data":"AAAA","mimeType":"image/png"}]"#]].assert_eq(&reply(Declares::Blocks, Some(json!({"n": 1}))));
        expect![[r#""plugin tool \"p:t\": \"result\" has no \"output\", and the tool declares no \"content\"" null []"#]].assert_eq(&reply(Declares::Text, None));
        let text = result("p:t", output("[1]", None), Declares::Blocks);
        assert_eq!((&*text.output, text.data), ("[1]", None));
    }

    #[test]
    fn data_is_what_the_program_gives_beside_its_output_or_as_it() {
        check(output("text", None), false, expect![[r#"ok: "text" None"#]]);
        check(output("[1]", None), false, expect![[r#"ok: "[1]" None"#]]);
        check(output("text", Some(json!([1]))), false, expect![[r#"ok: "text" Some("[1]")"#]]);
        check(output("text", Some(json!({}))), true, expect![[r#"ok: "text" Some("{}")"#]]);
        check(
            output("{\"n\": 1}\n", None),
            true,
            expect![[r#"ok: "{\"n\": 1}\n" Some("{\"n\":1}")"#]],
        );
        check(
            output("text", None),
            true,
            expect![[
                r#"output breaks the schema: "plugin tool \"p:t\": \"output\" is no JSON: expected ident at line 1 column 2\noutput: text" None"#
            ]],
        );
    }

    #[test]
    fn an_error_has_its_own_words_and_data() {
        let err = |data| Err(RpcError { code: -32602, message: "no such file\n".to_owned(), data });
        check(
            err(None),
            true,
            expect![[r#"error -32602: "error (code -32602): no such file\n" None"#]],
        );
        check(
            err(Some(json!({"path": "x"}))),
            false,
            expect![[
                r#"error -32602: "error (code -32602): no such file\n" Some("{\"path\":\"x\"}")"#
            ]],
        );
    }
}
