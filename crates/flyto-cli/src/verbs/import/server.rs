//! A server as this program declares it, made of what another client has.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use flyto_diagnostics::{At, Findings, Severity, Source, json};
use flyto_plugin::{LoadOptions, read_servers};
use serde_json::{Map, Value, json};

use super::secrets::{is_secret, is_secret_name, variable};
use super::{Found, Variables};

/// A name as this program has it: letters, digits, `_` and `-`, a letter or digit first, at most 64.
pub(super) fn name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let res: String = name.chars().map(plain).take(64).collect();
    let res = res.trim_start_matches(['_', '-']);
    if res.is_empty() { "server".to_owned() } else { res.to_owned() }
}

/// The server, and what is to be known of it.
///
/// # Errors
///
/// Why it cannot be used here.
pub(super) fn of(name: &str, found: &Found, own: &Own) -> Result<(Value, Vec<String>), String> {
    let declared = found.declared.as_object().ok_or("it is no object")?;
    if declared.get("disabled") == Some(&json!(true))
        || declared.get("enabled") == Some(&json!(false))
    {
        return Err("it is switched off".to_owned());
    }
    let mut maker = Maker { name, found, declared, server: Map::new(), notes: Vec::new() };
    match maker.text("command")? {
        Some(command) if own.is_started_by(&command, declared) => {
            return Err("it is this program, which needs no server for its own tools".to_owned());
        }
        Some(command) => maker.program(command)?,
        None => maker.address()?,
    }
    maker.times();
    maker.tools();
    maker.left_out();
    let Maker { server, notes, .. } = maker;
    let server = Value::Object(server);
    check(name, &server)?;
    Ok((server, notes))
}

/// This program, as a file of another client names it.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// The file that runs, without links on its way.
    pub(super) file: Option<PathBuf>,
    /// The directories in which a bare name is looked for.
    pub(super) path: OsString,
}

impl Own {
    /// Whether a server is this program with `serve`: by the file, or by the name that each installation of it has.
    fn is_started_by(&self, command: &str, declared: &Map<String, Value>) -> bool {
        let mut args = declared.get("args").and_then(Value::as_array).into_iter().flatten();
        let command = Path::new(command);
        let is_own = || {
            let paths = match command.components().count() {
                1 => std::env::split_paths(&self.path).map(|it| it.join(command)).collect(),
                _ => vec![command.to_owned()],
            };
            let first = paths.iter().find_map(|it| it.canonicalize().ok());
            first.is_some() && first == self.file
        };
        args.any(|it| it == "serve") && (command.file_stem() == Some("flyto".as_ref()) || is_own())
    }
}

struct Maker<'a> {
    name: &'a str,
    found: &'a Found,
    declared: &'a Map<String, Value>,
    server: Map<String, Value>,
    notes: Vec<String>,
}

/// Keys that are read, by any client.
const KEYS: [&str; 22] = [
    "type",
    "command",
    "args",
    "env",
    "env_vars",
    "cwd",
    "url",
    "httpUrl",
    "serverUrl",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "timeout",
    "tool_timeout_sec",
    "disabled",
    "enabled",
    "startup_timeout_sec",
    "enabled_tools",
    "disabled_tools",
    "includeTools",
    "excludeTools",
];

impl Maker<'_> {
    fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.declared.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("{key:?} is no text")),
        }
    }

    fn texts(&self, key: &str) -> Result<Vec<(String, String)>, String> {
        let Some(object) = self.declared.get(key).and_then(Value::as_object) else {
            return Ok(Vec::new());
        };
        let text = |(name, value): (&String, &Value)| match value {
            Value::String(text) => Ok((name.clone(), text.clone())),
            Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
            _ => Err(format!("{name} in {key:?} is no text")),
        };
        object.iter().map(text).collect()
    }

    fn program(&mut self, command: String) -> Result<(), String> {
        let mut command = self.expanded(&command)?;
        let is_path = command.contains('/') && !command.starts_with(['/', '$', '~']);
        if is_path {
            command = self.in_project(&command)?;
        }
        self.server.insert("command".to_owned(), command.into());
        let args = self.declared.get("args").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut made: Vec<Value> = Vec::new();
        let mut option = String::new();
        for arg in &args {
            let arg = arg.as_str().ok_or("an argument is no text")?;
            made.push(self.argument(&option, arg)?.into());
            option = arg.to_owned();
        }
        if !made.is_empty() {
            self.server.insert("args".to_owned(), made.into());
        }
        let mut env = Map::new();
        for (key, value) in self.texts("env")? {
            let value = self.value(key.clone(), &key, &value)?;
            env.insert(key, value.into());
        }
        for it in self.declared.get("env_vars").and_then(Value::as_array).into_iter().flatten() {
            let key =
                it.as_str().or_else(|| it["name"].as_str()).ok_or("\"env_vars\" has no names")?;
            env.insert(key.to_owned(), format!("${{{key}}}").into());
        }
        if !env.is_empty() {
            self.server.insert("env".to_owned(), env.into());
        }
        let cwd = self.text("cwd")?.map(|it| self.expanded(&it)).transpose()?;
        let cwd = match cwd {
            Some(cwd) if cwd.starts_with(['/', '$', '~']) => Some(cwd),
            Some(cwd) => Some(self.in_project(&cwd)?),
            None => self.found.dir.as_ref().map(|it| it.display().to_string()),
        };
        self.server.extend(cwd.map(|it| ("cwd".to_owned(), it.into())));
        Ok(())
    }

    /// A relative path, from the directory of the project.
    fn in_project(&self, path: &str) -> Result<String, String> {
        match &self.found.dir {
            Some(dir) => Ok(dir.join(path).display().to_string()),
            None => Err(format!(
                "{path:?} is relative, and it is not known from where: the file belongs to no project"
            )),
        }
    }

    /// An argument, behind another one that may be the option to which it belongs.
    fn argument(&mut self, before: &str, arg: &str) -> Result<String, String> {
        if before.starts_with('-') && !before.contains('=') && is_secret_name(before) {
            return self.value(variable(&format!("{} {before}", self.name)), before, arg);
        }
        if let Some((option, value)) = arg.split_once('=').filter(|it| it.0.starts_with('-')) {
            let value = self.value(variable(&format!("{} {option}", self.name)), option, value)?;
            return Ok(format!("{option}={value}"));
        }
        self.value(variable(&format!("{} argument", self.name)), "", arg)
    }

    fn address(&mut self) -> Result<(), String> {
        if self.text("type")?.as_deref() == Some("sse") {
            let why = "it speaks the older way over HTTP (\"sse\"), which is not spoken here; many such servers have an \
                       address for \"http\" as well";
            return Err(why.to_owned());
        }
        let url = match (self.text("httpUrl")?, self.text("url")?, self.text("serverUrl")?) {
            (Some(url), ..) | (None, Some(url), _) | (None, None, Some(url)) => url,
            _ => return Err("it has neither a command nor an address".to_owned()),
        };
        let has_user = url.split('/').nth(2).is_some_and(|it| it.contains('@'));
        let has_secret = url.split(['?', '&', '#']).skip(1).any(|it| {
            it.split_once('=')
                .is_some_and(|(name, value)| !value.is_empty() && is_secret_name(name))
        });
        let name = if has_user || has_secret { "url_token" } else { "url" };
        let url = self.value(variable(&format!("{} url", self.name)), name, &url)?;
        self.server.insert("url".to_owned(), url.into());
        let mut headers = Map::new();
        for key in ["headers", "http_headers"] {
            for (header, value) in self.texts(key)? {
                let of = variable(&format!("{} {header}", self.name));
                let (scheme, secret) = match value.split_once(' ') {
                    Some((scheme @ ("Bearer" | "Basic" | "Token"), secret)) => {
                        (format!("{scheme} "), secret)
                    }
                    _ => (String::new(), &*value),
                };
                let value = format!("{scheme}{}", self.value(of, &header, secret)?);
                headers.insert(header, value.into());
            }
        }
        for (header, variable) in self.texts("env_http_headers")? {
            headers.insert(header, format!("${{{variable}}}").into());
        }
        if let Some(variable) = self.text("bearer_token_env_var")? {
            headers.insert("Authorization".to_owned(), format!("Bearer ${{{variable}}}").into());
        }
        if !headers.is_empty() {
            self.server.insert("headers".to_owned(), headers.into());
        }
        Ok(())
    }

    /// A value under a name. In the place of a secret stands this variable.
    fn value(&mut self, variable: String, name: &str, value: &str) -> Result<String, String> {
        let expanded = self.expanded(value)?;
        let is_literal = !expanded.replace("$$", "").contains('$') && !value.is_empty();
        if is_literal && (is_secret_name(name) || is_secret(name, value)) {
            self.notes.push(format!("a secret is not copied; set the variable {variable}"));
            return Ok(format!("${{{variable}}}"));
        }
        Ok(expanded)
    }

    /// A text with the variables of the client as this program writes them.
    fn expanded(&mut self, text: &str) -> Result<String, String> {
        let mut res = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            res.push_str(&rest[..at]);
            let behind = &rest[at + 1..];
            let braced = behind.strip_prefix('{').and_then(|it| it.split_once('}'));
            (res, rest) = match (self.found.variables, braced) {
                (
                    Variables::Prefixed | Variables::Braced | Variables::Shell,
                    Some((inner, rest)),
                ) => (res + &self.reference(inner)?, rest),
                (Variables::Shell, None)
                    if behind.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') =>
                {
                    (res + "$", behind)
                }
                _ => (res + "$$", behind),
            };
        }
        Ok(res + rest)
    }

    fn reference(&mut self, inner: &str) -> Result<String, String> {
        let is_name = |it: &str| {
            let mut chars = it.chars();
            chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if let Some(id) = inner.strip_prefix("input:") {
            let variable = variable(id);
            self.notes.push(format!("the client asks for {id}; set the variable {variable}"));
            return Ok(format!("${{{variable}}}"));
        }
        let named = inner.strip_prefix("env:");
        let inner = named.unwrap_or(inner);
        let is_variable = named.is_some() || self.found.variables != Variables::Prefixed;
        match inner {
            "userHome" => Ok("${HOME}".to_owned()),
            "pathSeparator" | "/" => Ok("/".to_owned()),
            "workspaceFolder" | "workspaceFolderBasename" => match &self.found.dir {
                Some(dir) if inner == "workspaceFolder" => {
                    Ok(dir.display().to_string().replace('$', "$$"))
                }
                Some(dir) => {
                    let name = dir.file_name().unwrap_or_default();
                    Ok(name.to_string_lossy().replace('$', "$$"))
                }
                None => Err(format!("it uses ${{{inner}}}, and the file belongs to no project")),
            },
            _ if is_variable && is_name(inner.split_once(":-").map_or(inner, |it| it.0)) => {
                Ok(format!("${{{inner}}}"))
            }
            _ => Err(format!("it uses ${{{inner}}}, which means nothing here")),
        }
    }

    /// How long a call may take: milliseconds, and for Codex seconds.
    fn times(&mut self) {
        let milliseconds =
            self.declared.get("timeout").and_then(Value::as_f64).map(|it| it / 1000.0);
        let seconds = self.declared.get("tool_timeout_sec").and_then(Value::as_f64);
        if let Some(seconds) = seconds.or(milliseconds).filter(|it| *it > 0.0) {
            let seconds = seconds.ceil().min(604_800.0) as u64;
            self.server.insert("timeout_seconds".to_owned(), seconds.into());
        }
    }

    /// What the client offers of the tools. Here all of them are offered, and rules decide about each call.
    fn tools(&mut self) {
        let names = |keys: [&str; 2]| -> Option<Vec<&str>> {
            let lists = keys.iter().filter_map(|it| self.declared.get(*it)?.as_array());
            let names: Vec<_> = lists.flatten().filter_map(Value::as_str).collect();
            (!names.is_empty()).then_some(names)
        };
        let mut notes = Vec::new();
        if let Some(names) = names(["disabled_tools", "excludeTools"]) {
            let rules: Vec<_> =
                names.iter().map(|it| format!("mcp__{}__{it}", self.name)).collect();
            let rules = json!({"permissions": {"deny": rules}});
            notes.push(format!(
                "the client does not offer {}, and here all tools are offered; to deny them, add {rules} to the configuration",
                names.join(", ")
            ));
        }
        if let Some(names) = names(["enabled_tools", "includeTools"]) {
            notes.push(format!(
                "the client offers only {}, and here all tools are offered; a rule \"deny\" keeps one from being called",
                names.join(", ")
            ));
        }
        self.notes.extend(notes);
    }

    fn left_out(&mut self) {
        let others = self.declared.keys().filter(|it| !KEYS.contains(&it.as_str()));
        let others: Vec<_> = others.map(String::as_str).collect();
        if !others.is_empty() {
            self.notes.push(format!("left out: {}", others.join(", ")));
        }
    }
}

/// Whether this program takes the server as it stands.
fn check(name: &str, server: &Value) -> Result<(), String> {
    let source = Source::new("config.json", json!({name: server}).to_string());
    let value = json::parse(&source).map_err(|it| it.message.clone())?;
    let mut findings = Findings::new();
    read_servers(At::root(&source, &value), Path::new("/"), &LoadOptions::new(), &mut findings);
    match findings.iter().find(|it| it.severity == Severity::Error) {
        Some(err) => Err(err.message.clone()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(variables: Variables, declared: Value, expect: Expect) {
        let found = Found { name: "s".to_owned(), declared, variables, dir: Some("/p".into()) };
        let shown = match of("s", &found, &Own::default()) {
            Ok((server, notes)) => {
                format!(
                    "{}\n{}",
                    serde_json::to_string(&server).unwrap(),
                    notes.iter().map(|it| format!("{it}\n")).collect::<String>()
                )
            }
            Err(why) => format!("{why}\n"),
        };
        expect.assert_eq(&shown);
    }

    #[test]
    fn programs() {
        let env = json!({"A": "${env:B}", "C": "a$b", "GITHUB_TOKEN": "ghp_x", "D_TOKEN": "${D}", "N": 5});
        check(
            Variables::Braced,
            json!({"type": "stdio", "command": "./run", "args": ["${workspaceFolder}", "--api-key", "k1", "--token=t", "$HOME"],
                   "env": env, "timeout": 1500, "alwaysAllow": ["x"]}),
            expect![[r#"
                {"command":"/p/./run","args":["/p","--api-key","${S_API_KEY}","--token=${S_TOKEN}","$$HOME"],"env":{"A":"${B}","C":"a$$b","GITHUB_TOKEN":"${GITHUB_TOKEN}","D_TOKEN":"${D}","N":"5"},"cwd":"/p","timeout_seconds":2}
                a secret is not copied; set the variable S_API_KEY
                a secret is not copied; set the variable S_TOKEN
                a secret is not copied; set the variable GITHUB_TOKEN
                left out: alwaysAllow
            "#]],
        );
        check(
            Variables::Shell,
            json!({"command": "x", "args": ["$HOME/$", "${A:-b}"], "cwd": "sub"}),
            expect![[r#"
                {"command":"x","args":["$HOME/$$","${A:-b}"],"cwd":"/p/sub"}
            "#]],
        );
        check(
            Variables::None,
            json!({"command": "x", "args": ["${A}"], "env_vars": ["T"], "tool_timeout_sec": 90.0}),
            expect![[r#"
                {"command":"x","args":["$${A}"],"env":{"T":"${T}"},"cwd":"/p","timeout_seconds":90}
            "#]],
        );
        check(
            Variables::Braced,
            json!({"command": "x", "env": {"K": "${input:my-key}"}}),
            expect![[r#"
                {"command":"x","env":{"K":"${MY_KEY}"},"cwd":"/p"}
                the client asks for my-key; set the variable MY_KEY
            "#]],
        );
    }

    #[test]
    fn addresses() {
        let headers = json!({"Authorization": "Bearer abc", "X-Team": "t"});
        check(
            Variables::Braced,
            json!({"type": "http", "url": "https://a.org/mcp", "headers": headers}),
            expect![[r#"
                {"url":"https://a.org/mcp","headers":{"Authorization":"Bearer ${S_AUTHORIZATION}","X-Team":"t"}}
                a secret is not copied; set the variable S_AUTHORIZATION
            "#]],
        );
        check(
            Variables::Shell,
            json!({"httpUrl": "https://a.org/mcp?api_key=1"}),
            expect![[r#"
                {"url":"${S_URL}"}
                a secret is not copied; set the variable S_URL
            "#]],
        );
        check(
            Variables::None,
            json!({"url": "https://a.org", "bearer_token_env_var": "T", "env_http_headers": {"X": "Y"}}),
            expect![[r#"
                {"url":"https://a.org","headers":{"X":"${Y}","Authorization":"Bearer ${T}"}}
            "#]],
        );
    }

    #[test]
    fn what_the_client_does_not_offer_is_told() {
        check(
            Variables::None,
            json!({"command": "x", "enabled_tools": ["a", "b"], "disabled_tools": ["c"]}),
            expect![[r#"
                {"command":"x","cwd":"/p"}
                the client does not offer c, and here all tools are offered; to deny them, add {"permissions":{"deny":["mcp__s__c"]}} to the configuration
                the client offers only a, b, and here all tools are offered; a rule "deny" keeps one from being called
            "#]],
        );
        check(
            Variables::Shell,
            json!({"command": "x", "includeTools": ["a"], "excludeTools": []}),
            expect![[r#"
                {"command":"x","cwd":"/p"}
                the client offers only a, and here all tools are offered; a rule "deny" keeps one from being called
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_used() {
        check(
            Variables::Braced,
            json!({"command": "x", "disabled": true}),
            expect![[r#"
            it is switched off
        "#]],
        );
        check(
            Variables::Braced,
            json!({}),
            expect![[r#"
            it has neither a command nor an address
        "#]],
        );
        check(
            Variables::Braced,
            json!({"command": "x", "args": [1]}),
            expect![[r#"
            an argument is no text
        "#]],
        );
        check(
            Variables::Prefixed,
            json!({"command": "x", "args": ["${file}"]}),
            expect![[r#"
            it uses ${file}, which means nothing here
        "#]],
        );
        check(
            Variables::Braced,
            json!({"command": "x", "args": ["${file}.${1}"]}),
            expect![[r#"
                it uses ${1}, which means nothing here
            "#]],
        );
        check(
            Variables::Braced,
            json!({"type": "sse", "url": "https://a.org/sse"}),
            expect![[r#"
                it speaks the older way over HTTP ("sse"), which is not spoken here; many such servers have an address for "http" as well
            "#]],
        );
        check(
            Variables::Prefixed,
            json!({"command": "x", "args": ["a${pathSeparator}b${/}c", "${workspaceFolderBasename}"]}),
            expect![[r#"
                {"command":"x","args":["a/b/c","p"],"cwd":"/p"}
            "#]],
        );
        let found = |declared| Found {
            name: "s".to_owned(),
            declared,
            variables: Variables::None,
            dir: None,
        };
        for declared in [json!({"command": "./x"}), json!({"command": "x", "cwd": "sub"})] {
            let why = of("s", &found(declared), &Own::default()).unwrap_err();
            assert!(why.contains("is relative"), "{why}");
        }
        assert_eq!([name("my server"), name("-"), name("a_b")], ["my-server", "server", "a_b"]);
    }
}
