//! A server as flyto declares it, made of what another client has.

use std::path::Path;

use flyto_diagnostics::{At, Findings, Severity, Source, json};
use flyto_plugin::{LoadOptions, read_servers};
use serde_json::{Map, Value, json};

use super::{
    secrets::{Secrets, is_scheme, is_secret_name, own_text, variable},
    types::{ClientServer, ImportError, ImportNote, ImportedServer, MAX_SERVER_BYTES, Variables},
};

impl ClientServer {
    /// The server as flyto declares it, and what is to be known of it.
    ///
    /// # Errors
    ///
    /// Why it cannot be used by flyto: each variant of [`ImportError`].
    pub fn convert(&self) -> Result<ImportedServer, ImportError> {
        let declared = self.members()?;
        if !self.is_enabled() {
            return Err(ImportError::Disabled);
        }
        let mut maker = Maker {
            name: self.name(),
            of: self,
            declared,
            secrets: Secrets::default(),
            server: Map::new(),
            notes: Vec::new(),
            n_bytes: 0,
        };
        match maker.text("command")? {
            Some(command) => maker.program(&command)?,
            None => maker.address()?,
        }
        maker.times();
        maker.tools()?;
        maker.left_out()?;
        let Maker { name, server, notes, .. } = maker;
        let declaration = Value::Object(server);
        check(&name, &declaration)?;
        Ok(ImportedServer { declaration, notes })
    }
}

struct Maker<'a> {
    name: String,
    of: &'a ClientServer,
    declared: &'a Map<String, Value>,
    secrets: Secrets,
    server: Map<String, Value>,
    notes: Vec<ImportNote>,
    /// Bytes of the texts and notes that were made.
    n_bytes: usize,
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
    /// Counts a text that was made.
    fn spend(&mut self, n_bytes: usize) -> Result<(), ImportError> {
        // An empty text takes place as well.
        self.n_bytes += n_bytes + 1;
        if self.n_bytes > MAX_SERVER_BYTES { Err(ImportError::TooLong) } else { Ok(()) }
    }

    fn note(&mut self, note: ImportNote) -> Result<(), ImportError> {
        self.spend(note.to_string().len())?;
        self.notes.push(note);
        Ok(())
    }

    fn text(&self, key: &str) -> Result<Option<String>, ImportError> {
        match self.declared.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(ImportError::NotText { what: format!("{key:?}") }),
        }
    }

    fn texts(&self, key: &str) -> Result<Vec<(String, String)>, ImportError> {
        let Some(object) = self.declared.get(key).and_then(Value::as_object) else {
            return Ok(Vec::new());
        };
        let text = |(name, value): (&String, &Value)| match value {
            Value::String(text) => Ok((name.clone(), text.clone())),
            Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
            _ => Err(ImportError::NotText { what: format!("{name} in {key:?}") }),
        };
        object.iter().map(text).collect()
    }

    fn program(&mut self, command: &str) -> Result<(), ImportError> {
        let mut command = from_home(self.expanded(command)?)?;
        let is_path = command.contains('/') && !command.starts_with(['/', '$']);
        if is_path {
            command = self.in_project(&command)?;
        }
        self.server.insert("command".to_owned(), command.into());
        let args = self.declared.get("args").and_then(Value::as_array);
        let mut made: Vec<Value> = Vec::new();
        let mut option = "";
        for arg in args.into_iter().flatten() {
            let no_text = || ImportError::NotText { what: "an argument".to_owned() };
            let arg = arg.as_str().ok_or_else(no_text)?;
            made.push(self.argument(option, arg)?.into());
            option = arg;
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
            let key = it.as_str().or_else(|| it["name"].as_str());
            let no_text = || ImportError::NotText { what: "a name in \"env_vars\"".to_owned() };
            let key = key.ok_or_else(no_text)?;
            env.insert(key.to_owned(), format!("${{{key}}}").into());
        }
        if !env.is_empty() {
            self.server.insert("env".to_owned(), env.into());
        }
        let cwd = self.text("cwd")?.map(|it| from_home(self.expanded(&it)?)).transpose()?;
        let cwd = match cwd {
            Some(cwd) if cwd.starts_with(['/', '$']) => Some(cwd),
            Some(cwd) => Some(self.in_project(&cwd)?),
            None => self.of.dir.as_ref().map(|it| it.display().to_string()),
        };
        self.server.extend(cwd.map(|it| ("cwd".to_owned(), it.into())));
        Ok(())
    }

    /// A relative path, from the directory of the project.
    fn in_project(&self, path: &str) -> Result<String, ImportError> {
        match &self.of.dir {
            Some(dir) => Ok(dir.join(path).display().to_string()),
            None => Err(ImportError::Relative { path: path.to_owned() }),
        }
    }

    /// An argument, behind another one that may be the option to which it belongs.
    fn argument(&mut self, before: &str, arg: &str) -> Result<String, ImportError> {
        if before.starts_with('-') && !before.contains('=') && is_secret_name(before) {
            return self.value(variable(&format!("{} {before}", self.name)), before, arg);
        }
        if let Some((option, value)) = arg.split_once('=').filter(|it| it.0.starts_with('-')) {
            let value = self.value(variable(&format!("{} {option}", self.name)), option, value)?;
            return Ok(format!("{option}={value}"));
        }
        self.value(variable(&format!("{} argument", self.name)), "", arg)
    }

    fn address(&mut self) -> Result<(), ImportError> {
        if self.text("type")?.as_deref() == Some("sse") {
            return Err(ImportError::Sse);
        }
        let url = match (self.text("httpUrl")?, self.text("url")?, self.text("serverUrl")?) {
            (Some(url), ..) | (None, Some(url), _) | (None, None, Some(url)) => url,
            _ => return Err(ImportError::NoTransport),
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
    fn value(&mut self, variable: String, name: &str, value: &str) -> Result<String, ImportError> {
        let expanded = self.expanded(value)?;
        let own = own_text(&expanded);
        if !is_scheme(&own) && (is_secret_name(name) || self.secrets.is_one(name, &own)) {
            let reference = format!("${{{variable}}}");
            self.note(ImportNote::SecretLeftOut { variable })?;
            return Ok(reference);
        }
        Ok(expanded)
    }

    /// A text with the variables of the client as this program writes them.
    fn expanded(&mut self, text: &str) -> Result<String, ImportError> {
        let mut res = String::new();
        let mut rest = text;
        // Behind the last `}` none is looked for, or each `${` would cost a walk to the end.
        let mut may_close = self.of.variables != Variables::None;
        while let Some(at) = rest.find('$') {
            res.push_str(&rest[..at]);
            let behind = &rest[at + 1..];
            let open = behind.strip_prefix('{').filter(|_| may_close);
            let braced = open.and_then(|it| it.split_once('}'));
            may_close &= open.is_none() || braced.is_some();
            let is_plain_reference = self.of.variables == Variables::Shell
                && behind.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            rest = match braced {
                Some((inner, behind)) => {
                    res.push_str(&self.reference(inner)?);
                    behind
                }
                None => {
                    res.push_str(if is_plain_reference { "$" } else { "$$" });
                    behind
                }
            };
            if res.len() > MAX_SERVER_BYTES {
                return Err(ImportError::TooLong);
            }
        }
        res.push_str(rest);
        self.spend(res.len())?;
        Ok(res)
    }

    fn reference(&mut self, inner: &str) -> Result<String, ImportError> {
        let is_name = |it: &str| {
            let mut chars = it.chars();
            chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if let Some(id) = inner.strip_prefix("input:") {
            let variable = variable(id);
            let reference = format!("${{{variable}}}");
            self.note(ImportNote::InputBecomesVariable { id: id.to_owned(), variable })?;
            return Ok(reference);
        }
        let named = inner.strip_prefix("env:");
        let inner = named.unwrap_or(inner);
        let is_variable = named.is_some() || self.of.variables != Variables::Prefixed;
        match inner {
            "userHome" => Ok("${HOME}".to_owned()),
            "pathSeparator" | "/" => Ok("/".to_owned()),
            "workspaceFolder" | "workspaceFolderBasename" => match &self.of.dir {
                Some(dir) if inner == "workspaceFolder" => {
                    Ok(dir.display().to_string().replace('$', "$$"))
                }
                Some(dir) => {
                    let name = dir.file_name().unwrap_or_default();
                    Ok(name.to_string_lossy().replace('$', "$$"))
                }
                None => Err(ImportError::NoProject { name: inner.to_owned() }),
            },
            _ if is_variable && is_name(inner.split_once(":-").map_or(inner, |it| it.0)) => {
                Ok(format!("${{{inner}}}"))
            }
            _ => Err(ImportError::UnknownVariable { name: inner.to_owned() }),
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
    fn tools(&mut self) -> Result<(), ImportError> {
        let names = |keys: [&str; 2]| -> Option<Vec<String>> {
            let lists = keys.iter().filter_map(|it| self.declared.get(*it)?.as_array());
            let names = lists.flatten().filter_map(Value::as_str).map(str::to_owned);
            Some(names.collect()).filter(|it: &Vec<_>| !it.is_empty())
        };
        let denied = names(["disabled_tools", "excludeTools"]);
        let offered = names(["enabled_tools", "includeTools"]);
        if let Some(tools) = denied {
            self.note(ImportNote::ToolsToDeny { server: self.name.clone(), tools })?;
        }
        offered.map_or(Ok(()), |tools| self.note(ImportNote::OnlyTools { tools }))
    }

    fn left_out(&mut self) -> Result<(), ImportError> {
        let others = self.declared.keys().filter(|it| !KEYS.contains(&it.as_str()));
        let keys: Vec<_> = others.cloned().collect();
        if keys.is_empty() { Ok(()) } else { self.note(ImportNote::LeftOut { keys }) }
    }
}

/// Whether flyto takes the server as it stands.
fn check(name: &str, server: &Value) -> Result<(), ImportError> {
    let text = json!({name: server}).to_string();
    if text.len() > MAX_SERVER_BYTES {
        return Err(ImportError::TooLong);
    }
    let refused = |message: &str| ImportError::Refused { message: message.to_owned() };
    let source = Source::new("config.json", text);
    let value = json::parse(&source).map_err(|it| refused(&it.message))?;
    let mut findings = Findings::new();
    read_servers(At::root(&source, &value), Path::new("/"), &LoadOptions::new(), &mut findings);
    match findings.iter().find(|it| it.severity == Severity::Error) {
        Some(err) => Err(refused(&err.message)),
        None => Ok(()),
    }
}

/// A path with a reference in the place of `~`: no shell stands between the declaration and the start.
fn from_home(path: String) -> Result<String, ImportError> {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => Ok(format!("${{HOME}}{rest}")),
        Some(_) => Err(ImportError::OtherHome { path }),
        None => Ok(path),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn server(variables: Variables, declared: Value, dir: Option<&str>) -> ClientServer {
        ClientServer { name: "s".to_owned(), declared, variables, dir: dir.map(Into::into) }
    }

    #[track_caller]
    fn check(variables: Variables, declared: Value, expect: Expect) {
        let shown = match server(variables, declared, Some("/p")).convert() {
            Ok(ImportedServer { declaration, notes }) => {
                format!(
                    "{declaration}\n{}",
                    notes.iter().map(|it| format!("{it}\n")).collect::<String>()
                )
            }
            Err(why) => format!("{why}\n"),
        };
        expect.assert_eq(&shown);
    }

    #[test]
    fn a_secret_beside_a_reference_is_left_out() {
        let token = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
        check(
            Variables::Braced,
            json!({"command": "x", "args": ["--token", "${T:-abc}", format!("a=${{B:-{token}}}")], "cwd": "/",
                   "env": {"API_TOKEN": format!("${{API_TOKEN:-{token}}}"), "FOO": format!("${{FOO:-{token}}}"),
                           "A_KEY": "${UNSET}SECRET", "B_TOKEN": "${B_TOKEN}", "AUTHORIZATION": "Bearer ${T}", "C": "${C:-plain}"}}),
            expect![[r#"
                {"command":"x","args":["--token","${S_TOKEN}","${S_ARGUMENT}"],"env":{"API_TOKEN":"${API_TOKEN}","FOO":"${FOO}","A_KEY":"${A_KEY}","B_TOKEN":"${B_TOKEN}","AUTHORIZATION":"Bearer ${T}","C":"${C:-plain}"},"cwd":"/"}
                a secret is not copied; set the variable S_TOKEN
                a secret is not copied; set the variable S_ARGUMENT
                a secret is not copied; set the variable API_TOKEN
                a secret is not copied; set the variable FOO
                a secret is not copied; set the variable A_KEY
            "#]],
        );
    }

    #[test]
    fn a_path_in_the_home_directory_needs_no_shell() {
        check(
            Variables::Prefixed,
            json!({"command": "~/bin/x", "args": ["~/notes"], "cwd": "~"}),
            expect![[r#"
                {"command":"${HOME}/bin/x","args":["~/notes"],"cwd":"${HOME}"}
            "#]],
        );
        check(
            Variables::None,
            json!({"command": "x", "cwd": "~ada/x"}),
            expect![[r#"
                "~ada/x" names the home of a user, which only a shell looks up
            "#]],
        );
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
        for declared in [json!({"command": "./x"}), json!({"command": "x", "cwd": "sub"})] {
            let why = server(Variables::None, declared, None).convert().unwrap_err();
            assert!(matches!(why, ImportError::Relative { .. }), "{why}");
        }
    }

    #[test]
    fn names_are_made_of_plain_characters() {
        let named = |name: &str| {
            let name = name.to_owned();
            ClientServer { name, ..server(Variables::None, json!({}), None) }.name()
        };
        assert_eq!(["my server", "-", "a_b"].map(named), ["my-server", "server", "a_b"]);
    }

    /// Texts that cost more than they are long, where each `${` looks for its end or stands for a path.
    #[test]
    fn a_server_is_bounded() {
        let long_dir = format!("/{}", "d".repeat(4000));
        for (text, dir) in [
            ("${".repeat(2 << 20), "/p"),
            ("${workspaceFolder}".repeat(1 << 18), &*long_dir),
            ("${input:x}".repeat(1 << 18), "/p"),
            ("$".repeat(MAX_SERVER_BYTES), "/p"),
        ] {
            for variables in [Variables::Braced, Variables::Shell, Variables::None] {
                let declared = json!({"command": "x", "args": [text]});
                let res = server(variables, declared, Some(dir)).convert();
                assert_eq!(res, Err(ImportError::TooLong));
            }
        }
        let declared = json!({"command": "x", "args": vec![""; 1 << 20]});
        let res = server(Variables::None, declared, None).convert();
        assert_eq!(res, Err(ImportError::TooLong));
        let declared = json!({"command": "x", "args": ["y".repeat(MAX_SERVER_BYTES - 64)]});
        assert!(server(Variables::None, declared, None).convert().is_ok());
    }
}
