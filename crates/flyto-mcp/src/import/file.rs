//! The files of clients: where servers stand in them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use thiserror::Error;

use super::{
    repeated,
    types::{ClientServer, Variables},
};
use crate::comments::without_comments;

/// The longest text that is read: 16 MiB, far beyond what clients write.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// The most servers of a file: a client that starts a thousand programs has another problem.
pub const MAX_SERVERS: usize = 1000;

/// The servers of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientFile {
    /// Those that can be imported, in the order of the file; of two with one name the first.
    pub servers: Vec<ClientServer>,
    /// Directories of other projects, as Claude Code writes them, whose servers are not among them.
    pub other_projects: Vec<String>,
    /// JSON pointers (RFC 6901) to the members that stand more than once, among the servers that are read and above them: a
    /// server of a name, a member of a server. Of each the last one counts, as for the client. At most 100, of 1,000 bytes
    /// each. TOML with such members is refused.
    pub repeated: Vec<String>,
}

/// What is to be known of a file beside its text.
#[derive(Clone, Debug)]
pub struct ClientFileContext {
    path: PathBuf,
    current_dir: PathBuf,
    home: Option<PathBuf>,
}

impl ClientFileContext {
    /// A file at `path`, read in `current_dir`. Both are absolute; neither is looked at.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, current_dir: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), current_dir: current_dir.into(), home: None }
    }

    /// The home of the user. The files of clients right in it belong to the user and to no project.
    #[must_use]
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// How the file writes variables, whose servers stand at this place.
    fn variables(&self, place: &str) -> Variables {
        let is_in = |dir: &str| self.path.iter().any(|it| it == dir);
        match place {
            "/mcp_servers" => Variables::None,
            "/mcpServers" if is_in(".gemini") => Variables::Shell,
            "/mcpServers" if !is_in(".cursor") => Variables::Braced,
            _ => Variables::Prefixed,
        }
    }

    /// How many directories the current one lies below a project; `None` where it lies elsewhere.
    fn n_below(&self, project: &str) -> Option<usize> {
        self.current_dir.ancestors().position(|it| it == Path::new(project))
    }
}

/// Why there are no servers of a file. Its `Display` stands without the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClientFileError {
    /// The text is longer than [`MAX_FILE_BYTES`].
    #[error("longer than {} MiB", MAX_FILE_BYTES >> 20)]
    TooLong,
    /// The file has the name of one in TOML, and the text is none.
    #[error("not read as TOML: {message}")]
    Toml {
        /// What the reader of TOML says.
        message: String,
    },
    /// The text is no JSON, also without comments.
    #[error("not read as JSON: {message}")]
    Json {
        /// What the reader of JSON says.
        message: String,
    },
    /// There is no object of servers.
    #[error("no servers: neither mcpServers, servers nor mcp_servers")]
    NoServers,
    /// There are more than [`MAX_SERVERS`].
    #[error("{n_servers} servers, and {MAX_SERVERS} are the most")]
    TooManyServers {
        /// How many there are.
        n_servers: usize,
    },
}

impl ClientFile {
    /// Reads a text: TOML with `mcp_servers`, as Codex has it, or JSON with `mcpServers`, as Claude Code, Gemini CLI and
    /// Cursor have it, or with `servers`, as VS Code has it. Comments in JSON are left out, and so is a byte order mark.
    ///
    /// A file of Claude Code has servers of projects as well: those of the project of the current directory come first, and
    /// take the place of others of their names.
    ///
    /// # Errors
    ///
    /// Each variant of [`ClientFileError`]. A server that cannot be used is no error here; [`ClientServer::convert`] says so.
    pub fn parse(text: &str, context: &ClientFileContext) -> Result<Self, ClientFileError> {
        let (root, mut repeated) = value(text, context)?;
        // How far above the current directory it lies, its directory, its servers.
        let mut project: Option<(usize, &String, &Map<String, Value>)> = None;
        let mut other_projects = Vec::new();
        let projects = root.get("projects").and_then(Value::as_object).into_iter().flatten();
        for (dir, declared) in projects {
            let servers = declared.get("mcpServers").and_then(Value::as_object);
            let Some(servers) = servers.filter(|it| !it.is_empty()) else { continue };
            let other = match (context.n_below(dir), &project) {
                (Some(n), Some((n_nearest, ..))) if n >= *n_nearest => Some(dir),
                (Some(n), _) => project.replace((n, dir, servers)).map(|it| it.1),
                (None, _) => Some(dir),
            };
            other_projects.extend(other.cloned());
        }
        let places = ["/mcp_servers", "/mcpServers", "/servers", "/mcp/servers"];
        let top = places.iter().find_map(|it| Some((*it, root.pointer(it)?.as_object()?)));
        if top.is_none() && project.is_none() && other_projects.is_empty() {
            return Err(ClientFileError::NoServers);
        }
        let of_project = project.map(|(_, dir, _)| {
            format!("/projects/{}/mcpServers", dir.replace('~', "~0").replace('/', "~1"))
        });
        repeated.retain(|it| {
            let read = top.iter().map(|it| it.0).chain(of_project.as_deref());
            // Above the servers, or among them.
            read.clone().any(|read| is_below(read, it) || is_below(it, read))
        });
        let mut res = Self { servers: Vec::new(), other_projects, repeated };
        if let Some((n_below, _, servers)) = project {
            // The directory as we write it: the file may write `/` in front of it a million times.
            let dir = context.current_dir.ancestors().nth(n_below).map(Path::to_owned);
            res.add(servers, Variables::Braced, dir)?;
        }
        if let Some((place, servers)) = top {
            let dir = project_of(&context.path, context.home.as_deref());
            res.add(servers, context.variables(place), dir)?;
        }
        Ok(res)
    }

    /// Adds servers, but for those of names that are there.
    fn add(
        &mut self,
        servers: &Map<String, Value>,
        variables: Variables,
        dir: Option<PathBuf>,
    ) -> Result<(), ClientFileError> {
        let n_servers = self.servers.len() + servers.len();
        if n_servers > MAX_SERVERS {
            return Err(ClientFileError::TooManyServers { n_servers });
        }
        let there: HashSet<String> = self.servers.iter().map(|it| it.name.clone()).collect();
        let new = servers.iter().filter(|it| !there.contains(it.0));
        self.servers.extend(new.map(|(name, declared)| ClientServer {
            name: name.clone(),
            declared: declared.clone(),
            variables,
            dir: dir.clone(),
        }));
        Ok(())
    }
}

/// Whether a pointer leads to what another one leads to, or to a part of it.
fn is_below(pointer: &str, other: &str) -> bool {
    pointer.strip_prefix(other).is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

/// What a text says, in the format of its file, and what stands in it more than once.
fn value(text: &str, context: &ClientFileContext) -> Result<(Value, Vec<String>), ClientFileError> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(ClientFileError::TooLong);
    }
    // The byte order mark, which some editors write.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if context.path.extension().is_some_and(|it| it == "toml") {
        let toml = toml::from_str(text);
        let toml = toml.map_err(|it| ClientFileError::Toml { message: it.message().to_owned() });
        return Ok((toml?, Vec::new()));
    }
    let is_read =
        |it: &str| matches!(it, "mcpServers" | "mcp_servers" | "servers" | "mcp" | "projects");
    let json = repeated::parse(&without_comments(text), is_read);
    json.map_err(|it| ClientFileError::Json { message: it.to_string() })
}

/// The directories in which clients have their files, in a project and in the home of a user.
const CLIENT_DIRS: [&str; 4] = [".cursor", ".vscode", ".gemini", ".codex"];

/// The directory of the project to which a file belongs, by its name; `None` for a file of the user's own.
fn project_of(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let dir = path.parent()?;
    if path.file_name()? == ".mcp.json" {
        return Some(dir.to_owned());
    }
    let project = dir.parent().filter(|_| CLIENT_DIRS.iter().any(|it| dir.ends_with(it)))?;
    (Some(project) != home).then(|| project.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(file: &str, text: &str) -> Result<ClientFile, ClientFileError> {
        ClientFile::parse(text, &ClientFileContext::new(file, "/p/sub"))
    }

    #[test]
    fn the_nearest_project_comes_first() {
        let servers = |of: &str| json!({"mcpServers": {"a": {"command": of}}});
        let mut file = servers("user");
        // Each of the two spellings of `/p/sub` is longer than that of a project below.
        file["projects"] = json!({
            "/": servers("root"), "//p///": servers("p"), "/p/./sub": servers("sub"), "/p/sub/x": servers("x"),
            "": servers("none"), "sub": servers("relative"),
        });
        let read = parse("/p/.claude.json", &file.to_string()).unwrap();
        let [server] = &read.servers[..] else { panic!("{read:?}") };
        assert_eq!(server.command(), Some("sub"));
        assert_eq!(server.dir.as_deref().unwrap().to_str(), Some("/p/sub"));
        assert_eq!(read.other_projects, ["/", "//p///", "/p/sub/x", "", "sub"]);
    }

    /// The directory of a project stands in each of its servers, however long the file writes it.
    #[test]
    fn a_long_name_of_a_project_costs_once() {
        let dir = format!("/p{}sub", "/".repeat(4 << 20));
        let servers: Map<_, _> =
            (0..MAX_SERVERS).map(|it| (it.to_string(), json!({"command": "x"}))).collect();
        let file = json!({"projects": {dir: {"mcpServers": servers}}});
        let read = parse("/p/.claude.json", &file.to_string()).unwrap();
        assert_eq!(read.servers.len(), MAX_SERVERS);
        assert_eq!(read.servers[0].convert().unwrap().declaration["cwd"], "/p/sub");
    }

    #[test]
    fn a_byte_order_mark_is_no_error() {
        let read = parse("/p/.mcp.json", "\u{feff}{\"mcpServers\": {\"a\": {}}}").unwrap();
        assert_eq!(read.servers.len(), 1);
        let read = parse("/p/config.toml", "\u{feff}[mcp_servers.a]\ncommand = \"x\"\n").unwrap();
        assert_eq!(read.servers.len(), 1);
    }

    #[test]
    fn a_member_that_stands_more_than_once_is_told() {
        let read = parse(
            "/p/.claude.json",
            r#"{"x": 1, "x": 2, "servers": {"b": 1, "b": 2},
                "projects": {"/p": {"x": 1, "x": 2, "mcpServers": {"c": {}, "c": {"args": 1, "args": 2}}},
                             "/q": {"mcpServers": {"d": {}, "d": {}}}},
                "mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#,
        );
        let read = read.unwrap();
        let told =
            ["/projects/~1p/mcpServers/c", "/projects/~1p/mcpServers/c/args", "/mcpServers/a"];
        assert_eq!(read.repeated, told);
        assert_eq!(read.servers[1].command(), Some("y"));
        let read = parse("/p/.mcp.json", r#"{"mcpServers": {}, "mcpServers": {"a": {}}}"#).unwrap();
        assert_eq!((&*read.repeated[0], read.servers.len()), ("/mcpServers", 1));
        let twice = parse("/p/config.toml", "[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a]\n");
        assert!(matches!(twice, Err(ClientFileError::Toml { .. })), "{twice:?}");
    }

    #[test]
    fn a_file_is_bounded() {
        let n_servers = MAX_SERVERS + 1;
        let servers: Map<_, _> = (0..n_servers).map(|it| (it.to_string(), json!({}))).collect();
        let file = json!({"mcpServers": servers}).to_string();
        let too_many = ClientFileError::TooManyServers { n_servers };
        assert_eq!(parse("/p/.mcp.json", &file).unwrap_err(), too_many);
        let long = " ".repeat(MAX_FILE_BYTES as usize + 1);
        assert_eq!(parse("/p/.mcp.json", &long).unwrap_err(), ClientFileError::TooLong);
        let n = 1 << 20;
        for deep in ["[".repeat(n), "{\"a\":".repeat(n), "[/**/".repeat(n), ",}".repeat(n)] {
            let err = parse("/p/.mcp.json", &deep).unwrap_err();
            assert!(matches!(err, ClientFileError::Json { .. }), "{err}");
        }
    }

    #[test]
    fn toml_is_bounded_in_depth() {
        let n = 1 << 18;
        for deep in [
            format!("a = {}", "[".repeat(n)),
            format!("a = {}", "{ a = ".repeat(n)),
            format!("[a{}]", ".a".repeat(n)),
            format!("a{} = 1", ".a".repeat(n)),
            format!("a = {{ a{} = 1 }}", ".a".repeat(n)),
        ] {
            let err = parse("/p/config.toml", &deep).unwrap_err();
            assert!(matches!(err, ClientFileError::Toml { .. }), "{err}");
        }
    }
}
