//! A server as flyto declares it, made of what another client has.

use std::collections::{HashMap, HashSet};
use std::iter;
use std::path::Path;

use flyto_diagnostics::{At, Findings, Severity, Source, json};
use flyto_plugin::{LoadOptions, read_servers};
use serde_json::{Map, Value, json};

use super::{
    secrets::{
        Role, Secrets, is_scheme, is_secret_name, is_variable, own_text, references, variable,
    },
    types::{
        ClientServer, ImportError, ImportNote, ImportedServer, ImportedVariables, MAX_SERVER_BYTES,
        Variables,
    },
};

impl ClientServer {
    /// The server as flyto declares it, and what is to be known of it.
    ///
    /// # Errors
    ///
    /// Why it cannot be used by flyto: each variant of [`ImportError`].
    pub fn convert(&self) -> Result<ImportedServer, ImportError> {
        self.convert_beside(&mut ImportedVariables::default())
    }

    /// The same for one of several servers: a variable stands for one secret in all of them.
    ///
    /// ```
    /// use flyto_mcp::import::{ClientFile, ClientFileContext, ImportedVariables};
    ///
    /// let text = r#"{"mcpServers": {
    ///     "a": {"command": "a", "env": {"API_TOKEN": "hunter2"}},
    ///     "b": {"command": "b", "env": {"API_TOKEN": "hunter3"}}
    /// }}"#;
    /// let file = ClientFile::parse(text, &ClientFileContext::new("/p/.mcp.json", "/p"))?;
    /// let mut variables = ImportedVariables::of(&file.servers);
    /// let mut token = |at: usize| {
    ///     let server = file.servers[at].convert_beside(&mut variables).expect("it is in order");
    ///     server.declaration["env"]["API_TOKEN"].clone()
    /// };
    /// assert_eq!([token(0), token(1)], ["${API_TOKEN}", "${API_TOKEN_2}"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`convert`](Self::convert). The variables are then as before.
    pub fn convert_beside(
        &self,
        variables: &mut ImportedVariables,
    ) -> Result<ImportedServer, ImportError> {
        let declared = self.members()?;
        // A server with more of them is longer than it may be.
        let referred = references(&self.declared).take(MAX_SERVER_BYTES);
        let mut maker = Maker {
            name: self.name(),
            of: self,
            declared,
            secrets: Secrets::default(),
            others: &variables.0,
            variables: referred.map(|it| (it.to_owned(), None)).collect(),
            read: HashSet::new(),
            server: Map::new(),
            notes: Vec::new(),
            n_bytes: 0,
        };
        if maker.flag("disabled")? == Some(true) || maker.flag("enabled")? == Some(false) {
            return Err(ImportError::Disabled);
        }
        if self.has_secret_name() {
            return Err(ImportError::SecretName { what: "its name" });
        }
        if self.name != maker.name {
            maker.note(ImportNote::Renamed { name: self.name.clone() })?;
        }
        match maker.command()? {
            Some(command) => maker.program(&command)?,
            None => maker.address()?,
        }
        maker.times()?;
        maker.tools()?;
        maker.left_out()?;
        let Maker { name, server, notes, variables: own, .. } = maker;
        let declaration = Value::Object(server);
        check(&name, &declaration)?;
        // What another server stands for counts; a reference is to what there is already.
        for (name, value) in own {
            variables.0.entry(name).or_insert(value);
        }
        Ok(ImportedServer { declaration, notes })
    }
}

impl ImportedVariables {
    /// The variables to which these servers refer: what one of them reads stands for no secret of another one.
    #[must_use]
    pub fn of(servers: &[ClientServer]) -> Self {
        let referred = |it| references(it).take(MAX_SERVER_BYTES);
        let names = servers.iter().flat_map(|it| referred(&it.declared));
        Self(names.map(|it| (it.to_owned(), None)).collect())
    }

    /// Keeps the variables of a server that the configuration has already from standing for a secret of the file. Not for
    /// one that the file has as well: what was imported before stays as it is.
    pub fn keep_those_of(&mut self, declaration: &Value) {
        let names = references(declaration).take(MAX_SERVER_BYTES);
        self.0.extend(names.map(|it| (it.to_owned(), None)));
    }
}

struct Maker<'a> {
    name: String,
    of: &'a ClientServer,
    declared: &'a Map<String, Value>,
    secrets: Secrets,
    /// Those of the servers before it.
    others: &'a HashMap<String, Option<String>>,
    /// Variables, each with the only value for which it may stand; `None` for one to which the declaration refers.
    variables: HashMap<String, Option<String>>,
    /// The keys of the members that are not left out.
    read: HashSet<&'static str>,
    server: Map<String, Value>,
    notes: Vec<ImportNote>,
    /// Bytes of the texts and notes that were made.
    n_bytes: usize,
}

/// Keys of the address, of which the first one counts.
const ADDRESS_KEYS: [&str; 3] = ["httpUrl", "url", "serverUrl"];

/// The longest time of a call, in seconds: one week, as declarations of flyto have it.
const MAX_SECONDS: f64 = 604_800.0;

/// Options of programs such as `mcp-remote` behind which a header stands.
const HEADER_OPTIONS: [&str; 2] = ["-H", "--header"];

impl<'a> Maker<'a> {
    /// Counts a text that was made.
    fn spend(&mut self, n_bytes: usize) -> Result<(), ImportError> {
        // An empty text takes place as well.
        self.n_bytes += n_bytes + 1;
        if self.n_bytes > MAX_SERVER_BYTES { Err(ImportError::TooLong) } else { Ok(()) }
    }

    fn note(&mut self, note: ImportNote) -> Result<(), ImportError> {
        // One that is there tells all, as of a variable that stands in two places.
        if self.notes.contains(&note) {
            return Ok(());
        }
        self.spend(note.to_string().len())?;
        self.notes.push(note);
        Ok(())
    }

    /// A member that is not null. What is not asked for here is noted as left out.
    fn get(&mut self, key: &'static str) -> Option<&'a Value> {
        self.read.insert(key);
        self.declared.get(key).filter(|it| !it.is_null())
    }

    fn text(&mut self, key: &'static str) -> Result<Option<String>, ImportError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(ImportError::NotText { what: format!("{key:?}") }),
        }
    }

    fn flag(&mut self, key: &'static str) -> Result<Option<bool>, ImportError> {
        let wrong_type = ImportError::WrongType { key, expected: "true or false" };
        self.get(key).map(|it| it.as_bool().ok_or(wrong_type)).transpose()
    }

    fn list(&mut self, key: &'static str) -> Result<Option<&'a Vec<Value>>, ImportError> {
        let wrong_type = ImportError::WrongType { key, expected: "a list" };
        self.get(key).map(|it| it.as_array().ok_or(wrong_type)).transpose()
    }

    /// A number above 0. Another one is noted as left out.
    fn time(&mut self, key: &'static str) -> Result<Option<f64>, ImportError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = value.as_f64().ok_or(ImportError::WrongType { key, expected: "a number" })?;
        if number > 0.0 {
            return Ok(Some(number));
        }
        self.read.remove(key);
        Ok(None)
    }

    fn texts(&mut self, key: &'static str) -> Result<Vec<(String, String)>, ImportError> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let object =
            value.as_object().ok_or(ImportError::WrongType { key, expected: "an object" })?;
        let text = |(name, value): (&String, &Value)| match value {
            Value::String(text) => Ok((name.clone(), text.clone())),
            Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
            _ => Err(ImportError::NotText { what: format!("{name} in {key:?}") }),
        };
        object.iter().map(text).collect()
    }

    /// The program, or `None` for a server that has an address.
    fn command(&mut self) -> Result<Option<String>, ImportError> {
        let is_there = |key| self.declared.get(key).is_some_and(|it| !it.is_null());
        let (has_command, has_address) =
            (is_there("command"), ADDRESS_KEYS.into_iter().any(is_there));
        let is_program = match (self.text("type")?.as_deref(), has_command, has_address) {
            (None, false, false) => return Err(ImportError::NoTransport),
            (None, true, true) => return Err(ImportError::TwoTransports),
            (None, has_command, _) => has_command,
            (Some("stdio"), true, _) => true,
            (Some("stdio"), false, _) => {
                return Err(ImportError::TypeWithout { name: "stdio", what: "command" });
            }
            (Some("http" | "streamable-http" | "streamableHttp"), _, true) => false,
            (Some("http" | "streamable-http" | "streamableHttp"), _, false) => {
                return Err(ImportError::TypeWithout { name: "http", what: "address" });
            }
            (Some("sse"), ..) => return Err(ImportError::Sse),
            (Some(name), ..) => return Err(ImportError::UnknownType { name: name.to_owned() }),
        };
        if is_program { self.text("command") } else { Ok(None) }
    }

    fn program(&mut self, command: &str) -> Result<(), ImportError> {
        let of = variable(&format!("{} command", self.name));
        let mut command = from_home(self.value(of, "", command)?)?;
        let is_path = command.contains('/') && !command.starts_with(['/', '$']);
        if is_path {
            command = self.in_project(&command)?;
        }
        self.server.insert("command".to_owned(), command.into());
        let args = self.list("args")?;
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
            self.check_name(&key, "the name of a variable")?;
            let value = self.value(key.clone(), &key, &value)?;
            env.insert(key, value.into());
        }
        for it in self.list("env_vars")?.into_iter().flatten() {
            let key = it.as_str().or_else(|| it["name"].as_str());
            let no_text = || ImportError::NotText { what: "a name in \"env_vars\"".to_owned() };
            let key = key.ok_or_else(no_text)?;
            self.check_name(key, "the name of a variable")?;
            if !is_variable(key) {
                return Err(ImportError::NotAVariable { key: "env_vars" });
            }
            if env.insert(key.to_owned(), format!("${{{key}}}").into()).is_some() {
                return Err(ImportError::Twice { what: format!("the variable {key}") });
            }
            for (member, value) in it.as_object().into_iter().flatten() {
                // `"source": "local"`, the environment of the client, is what a reference reads.
                if member != "name" && (member != "source" || value != "local") {
                    let keys = vec![format!("{member} of {key} in \"env_vars\"")];
                    self.note(ImportNote::LeftOut { keys })?;
                }
            }
        }
        if !env.is_empty() {
            self.server.insert("env".to_owned(), env.into());
        }
        let cwd = self.text("cwd")?.map(|it| {
            let of = variable(&format!("{} cwd", self.name));
            from_home(self.value(of, "", &it)?)
        });
        let cwd = cwd.transpose()?;
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
        if let Some((header, value)) =
            arg.split_once(':').filter(|_| HEADER_OPTIONS.contains(&before))
        {
            let (name, secret) = (self.expanded(header)?, value.trim_start());
            let blanks = &value[..value.len() - secret.len()];
            let secret = self.header(header, secret)?;
            return Ok(format!("{name}:{blanks}{secret}"));
        }
        if before.starts_with('-') && !before.contains('=') && is_secret_name(before) {
            return self.value(variable(&format!("{} {before}", self.name)), before, arg);
        }
        // `--option=value`, and `NAME=value` as programs that set variables have it.
        let is_assignment = |it: &(&str, &str)| it.0.starts_with('-') || is_variable(it.0);
        if let Some((option, value)) = arg.split_once('=').filter(is_assignment) {
            self.check_name(option, "the name of an option")?;
            let value = self.value(variable(&format!("{} {option}", self.name)), option, value)?;
            return Ok(format!("{}={value}", self.expanded(option)?));
        }
        self.value(variable(&format!("{} argument", self.name)), "", arg)
    }

    fn address(&mut self) -> Result<(), ImportError> {
        let mut url = None;
        for key in ADDRESS_KEYS {
            url = self.text(key)?;
            if url.is_some() {
                break;
            }
        }
        let url = url.ok_or(ImportError::NoTransport)?;
        let url =
            self.value_of(Role::Address, variable(&format!("{} url", self.name)), "url", &url)?;
        self.server.insert("url".to_owned(), url.into());
        let mut headers = Map::new();
        for key in ["headers", "http_headers"] {
            for (header, value) in self.texts(key)? {
                self.check_name(&header, "the name of a header")?;
                let value = self.header(&header, &value)?;
                put_header(&mut headers, header, value)?;
            }
        }
        for (header, named) in self.texts("env_http_headers")? {
            self.check_name(&header, "the name of a header")?;
            let value = self.named_variable(&header, &named)?;
            put_header(&mut headers, header, value)?;
        }
        if let Some(named) = self.text("bearer_token_env_var")? {
            let token = self.named_variable("Authorization", &named)?;
            put_header(&mut headers, "Authorization".to_owned(), format!("Bearer {token}"))?;
        }
        if !headers.is_empty() {
            self.server.insert("headers".to_owned(), headers.into());
        }
        Ok(())
    }

    /// The value of a header; a scheme before a secret stays.
    fn header(&mut self, header: &str, value: &str) -> Result<String, ImportError> {
        let of = variable(&format!("{} {header}", self.name));
        let (scheme, secret) = match value.split_once(' ') {
            Some((scheme @ ("Bearer" | "Basic" | "Token"), secret)) => {
                (format!("{scheme} "), secret)
            }
            _ => (String::new(), value),
        };
        Ok(format!("{scheme}{}", self.value(of, header, secret)?))
    }

    /// A reference to the variable that a declaration names. Where the secret itself stands in the place of its name, as in
    /// `bearer_token_env_var = "ghp_…"`, it is left out.
    fn named_variable(&mut self, header: &str, named: &str) -> Result<String, ImportError> {
        if is_variable(named) && !self.secrets.is_for_a_name(named) {
            return Ok(format!("${{{named}}}"));
        }
        let variable = self.variable_for(variable(&format!("{} {header}", self.name)), named);
        self.left_out_secret(variable)
    }

    /// Refuses a name that would be copied with a secret in it.
    fn check_name(&self, name: &str, what: &'static str) -> Result<(), ImportError> {
        match self.secrets.is_a_name(name) {
            true => Err(ImportError::SecretName { what }),
            false => Ok(()),
        }
    }

    /// A value under a name. In the place of a secret stands this variable.
    fn value(&mut self, variable: String, name: &str, value: &str) -> Result<String, ImportError> {
        self.value_of(Role::Text, variable, name, value)
    }

    fn value_of(
        &mut self,
        role: Role,
        variable: String,
        name: &str,
        value: &str,
    ) -> Result<String, ImportError> {
        let expanded = self.expanded(value)?;
        if self.is_secret(role, name, &own_text(&expanded)) {
            let variable = self.variable_for(variable, &expanded);
            return self.left_out_secret(variable);
        }
        Ok(expanded)
    }

    /// Whether a text under a name is not to be copied.
    fn is_secret(&self, role: Role, name: &str, own: &str) -> bool {
        !is_scheme(own) && (is_secret_name(name) || self.secrets.is_in(role, name, own))
    }

    /// This variable, or one with a number where this one stands for another value.
    fn variable_for(&mut self, variable: String, value: &str) -> String {
        let mut res = variable.clone();
        let mut n = 1;
        let stands_for_another = |it: &Option<String>| it.as_deref() != Some(value);
        while self.variables.get(&res).is_some_and(stands_for_another)
            || self.others.get(&res).is_some_and(stands_for_another)
        {
            n += 1;
            res = format!("{variable}_{n}");
        }
        self.variables.insert(res.clone(), Some(value.to_owned()));
        res
    }

    /// The reference that stands in the place of a secret.
    fn left_out_secret(&mut self, variable: String) -> Result<String, ImportError> {
        let reference = format!("${{{variable}}}");
        self.note(ImportNote::SecretLeftOut { variable })?;
        Ok(reference)
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
        self.check_name(default_of(inner).0, "the name of a variable")?;
        if let Some(id) = inner.strip_prefix("input:") {
            let variable = self.variable_for(variable(id), &format!("${{{inner}}}"));
            let reference = format!("${{{variable}}}");
            self.note(ImportNote::InputBecomesVariable { id: id.to_owned(), variable })?;
            return Ok(reference);
        }
        let named = inner.strip_prefix("env:");
        let inner = named.unwrap_or(inner);
        let is_reference = named.is_some() || self.of.variables != Variables::Prefixed;
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
            _ if is_reference && is_variable(default_of(inner).0) => {
                // Also a reference within the default has its name, and may have a default.
                let mut defaults = iter::once(inner).chain(inner.split("${").skip(1));
                let is_secret = defaults.any(|it| {
                    let (name, default) = default_of(it);
                    self.is_secret(Role::Text, name, default)
                });
                if is_secret {
                    return self.left_out_secret(default_of(inner).0.to_owned());
                }
                Ok(format!("${{{inner}}}"))
            }
            _ => Err(ImportError::UnknownVariable { name: inner.to_owned() }),
        }
    }

    /// How long a call may take: milliseconds, and for Codex seconds.
    fn times(&mut self) -> Result<(), ImportError> {
        let seconds = match self.time("tool_timeout_sec")? {
            Some(seconds) => Some(seconds),
            None => self.time("timeout")?.map(|it| it / 1000.0),
        };
        let Some(seconds) = seconds.map(f64::ceil) else { return Ok(()) };
        if seconds > MAX_SECONDS {
            self.note(ImportNote::TimeoutLimited { seconds: MAX_SECONDS as u64 })?;
        }
        let seconds = seconds.min(MAX_SECONDS) as u64;
        self.server.insert("timeout_seconds".to_owned(), seconds.into());
        Ok(())
    }

    /// What the client offers of the tools. Here all of them are offered, and rules decide about each call.
    fn tools(&mut self) -> Result<(), ImportError> {
        let denied = self.tool_names(["disabled_tools", "excludeTools"])?.unwrap_or_default();
        if !denied.is_empty() {
            self.note(ImportNote::ToolsToDeny { server: self.name.clone(), tools: denied })?;
        }
        let offered = self.tool_names(["enabled_tools", "includeTools"])?;
        offered.map_or(Ok(()), |tools| self.note(ImportNote::OnlyTools { tools }))
    }

    /// The names in these lists; `None` where there is no list.
    fn tool_names(&mut self, keys: [&'static str; 2]) -> Result<Option<Vec<String>>, ImportError> {
        let mut res: Option<Vec<String>> = None;
        for key in keys {
            let Some(names) = self.list(key)? else { continue };
            let no_text = || ImportError::NotText { what: format!("a name in {key:?}") };
            let all = res.get_or_insert_default();
            for name in names {
                all.push(name.as_str().ok_or_else(no_text)?.to_owned());
            }
        }
        Ok(res)
    }

    fn left_out(&mut self) -> Result<(), ImportError> {
        let others = self.declared.iter().filter(|it| !it.1.is_null()).map(|it| it.0);
        let keys: Vec<_> = others.filter(|it| !self.read.contains(&***it)).cloned().collect();
        if keys.is_empty() { Ok(()) } else { self.note(ImportNote::LeftOut { keys }) }
    }
}

/// Adds a header that is not there yet.
fn put_header(
    headers: &mut Map<String, Value>,
    header: String,
    value: String,
) -> Result<(), ImportError> {
    match headers.insert(header.clone(), value.into()) {
        Some(_) => Err(ImportError::Twice { what: format!("the header {header}") }),
        None => Ok(()),
    }
}

/// The name in a reference, and its default.
fn default_of(inner: &str) -> (&str, &str) {
    inner.split_once(":-").unwrap_or((inner, ""))
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
mod tests;
