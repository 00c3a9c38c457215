//! A server as another client declares it, and what becomes of it.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use flyto_plugin::MAX_NAME_CHARS;
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::secrets::Secrets;

/// The most bytes of a converted server, as JSON, and of its notes: 64 KiB, several times what the longest command line
/// of a server takes. A short reference may stand for a long path, so it is the result that is bounded.
pub const MAX_SERVER_BYTES: usize = 64 << 10;

/// A server as another client declares it.
#[derive(Clone, Debug)]
pub struct ClientServer {
    /// As the client writes it.
    pub(super) name: String,
    pub(super) declared: Value,
    pub(super) variables: Variables,
    /// The directory from which a relative path of a program starts; `None` where that is not known.
    pub(super) dir: Option<PathBuf>,
}

/// How a client writes variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variables {
    /// `${env:NAME}`, as VS Code and Cursor have it; another name in braces is one of the client's own.
    Prefixed,
    /// `${NAME}`, `${NAME:-default}`, `${env:NAME}`; another `$` is a dollar.
    Braced,
    /// The same, and `$NAME`.
    Shell,
    /// None: each `$` is a dollar.
    None,
}

impl ClientServer {
    /// The name that the server has in a configuration of flyto: letters, digits, `_` and `-`, a letter or digit first, at
    /// most 64. Other characters become `-` ([`ImportNote::Renamed`]), so two servers of a file may have one name. A name that
    /// looks like a secret is `server`.
    #[must_use]
    pub fn name(&self) -> String {
        if self.has_secret_name() {
            return "server".to_owned();
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let res: String = self.name.chars().map(plain).take(MAX_NAME_CHARS).collect();
        let res = res.trim_start_matches(['_', '-']);
        if res.is_empty() { "server".to_owned() } else { res.to_owned() }
    }

    /// Whether the client would start or reach it: neither `"disabled": true` nor `"enabled": false`.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.declared.get("disabled") != Some(&json!(true))
            && self.declared.get("enabled") != Some(&json!(false))
    }

    /// The program, as the client writes it; `None` where the server has an address.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        self.declared.get("command")?.as_str()
    }

    /// The arguments of the program that are texts, as the client writes them.
    pub fn args(&self) -> impl Iterator<Item = &str> {
        let args = self.declared.get("args").and_then(Value::as_array);
        args.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whether its name looks like a secret, which is not copied.
    pub(super) fn has_secret_name(&self) -> bool {
        Secrets::default().is_a_name(&self.name)
    }

    /// The members of the declaration.
    pub(super) fn members(&self) -> Result<&Map<String, Value>, ImportError> {
        self.declared.as_object().ok_or(ImportError::NotAnObject)
    }
}

/// The variables of the servers of one file that were converted so far, each with the secret for which it stands.
#[derive(Clone, Default)]
pub struct ImportedVariables(pub(super) HashMap<String, Option<String>>);

/// Names alone.
impl fmt::Debug for ImportedVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What a server of another client is in a configuration of flyto.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ImportedServer {
    /// The value of the server's member of `"mcpServers"`. [`flyto_plugin::read_servers`] reads it without an error.
    pub declaration: Value,
    /// What differs from what the client does, in the order of the declaration.
    pub notes: Vec<ImportNote>,
}

/// What the operator has to know of an imported server. Its `Display` is a sentence without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportNote {
    /// The server has another name here.
    Renamed {
        /// Its name in the file.
        name: String,
    },
    /// A value is a secret, or has the name of one: it was left out, and this variable is read in its place.
    SecretLeftOut {
        /// The variable of the host that the operator sets.
        variable: String,
    },
    /// The client asks its user for a value (`${input:ID}`): this variable is read in its place.
    InputBecomesVariable {
        /// The id of the input.
        id: String,
        /// The variable of the host that the operator sets.
        variable: String,
    },
    /// The client does not offer these tools of the server. flyto offers all of them.
    ToolsToDeny {
        /// The name of the server.
        server: String,
        /// The tools, as the server names them.
        tools: Vec<String>,
    },
    /// The client offers no other tools of the server. flyto offers all of them.
    OnlyTools {
        /// The tools, as the server names them.
        tools: Vec<String>,
    },
    /// The client gives a call more time than flyto does at most.
    TimeoutLimited {
        /// The time that a call has here.
        seconds: u64,
    },
    /// Members of the declaration that mean nothing to flyto, or nothing for such a server.
    LeftOut {
        /// Their keys.
        keys: Vec<String>,
    },
}

impl fmt::Display for ImportNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Renamed { name } => write!(f, "its name in the file is {name:?}"),
            Self::SecretLeftOut { variable } => {
                write!(f, "a secret is not copied; set the variable {variable}")
            }
            Self::InputBecomesVariable { id, variable } => {
                write!(f, "the client asks for {id}; set the variable {variable}")
            }
            Self::ToolsToDeny { server, tools } => {
                let rules: Vec<_> = tools.iter().map(|it| format!("mcp__{server}__{it}")).collect();
                let rules = json!({"permissions": {"deny": rules}});
                let tools = tools.join(", ");
                write!(
                    f,
                    "the client does not offer {tools}, and here all tools are offered; to deny them, add {rules} to \
                     the configuration"
                )
            }
            Self::OnlyTools { tools } => {
                let tools = if tools.is_empty() {
                    "no tool".to_owned()
                } else {
                    format!("only {}", tools.join(", "))
                };
                write!(
                    f,
                    "the client offers {tools}, and here all tools are offered; a rule \"deny\" keeps one from being \
                     called"
                )
            }
            Self::TimeoutLimited { seconds } => {
                write!(f, "a call may take {seconds} s at most here")
            }
            Self::LeftOut { keys } => write!(f, "left out: {}", keys.join(", ")),
        }
    }
}

/// Why a server of another client cannot be used by flyto. Its `Display` follows the name of the server.
///
/// It may quote the declaration with the secrets that are in it; a caller that shows it redacts it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The declaration is no object.
    #[error("it is no object")]
    NotAnObject,
    /// The client does not use it either.
    #[error("it is switched off")]
    Disabled,
    /// A member has a value that is no text.
    #[error("{what} is no text")]
    NotText {
        /// The member: `"command"`, `X in "headers"`.
        what: String,
    },
    /// A member has a value of a type that it cannot have.
    #[error("{key:?} is not {expected}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// What its value has to be: `a list`.
        expected: &'static str,
    },
    /// Two members declare the same variable or header.
    #[error("it has {what} twice")]
    Twice {
        /// Which one: `the variable X`.
        what: String,
    },
    /// Its type is none that flyto knows.
    #[error("its type {name:?} is not known")]
    UnknownType {
        /// The type.
        name: String,
    },
    /// It does not have what its type needs.
    #[error("it is of the type {name:?}, and has no {what}")]
    TypeWithout {
        /// The type.
        name: &'static str,
        /// `command` or `address`.
        what: &'static str,
    },
    /// It has a program and an address, and no type that says which of them counts.
    #[error("it has both a command and an address, and no \"type\" that tells which one counts")]
    TwoTransports,
    /// It has no program and no address.
    #[error("it has neither a command nor an address")]
    NoTransport,
    /// It speaks the transport that the protocol replaced in 2025-03-26.
    #[error(
        "it speaks the older way over HTTP (\"sse\"), which is not spoken here; many such servers have an address for \
         \"http\" as well"
    )]
    Sse,
    /// A path is relative, and no directory is known from which it starts.
    #[error("{path:?} is relative, and it is not known from where: the file belongs to no project")]
    Relative {
        /// The path, as it was to be written.
        path: String,
    },
    /// A path starts in the home directory of a user that it names.
    #[error("{path:?} names the home of a user, which only a shell looks up")]
    OtherHome {
        /// The path, as the client writes it.
        path: String,
    },
    /// It uses a variable that only the client knows.
    #[error("it uses ${{{name}}}, which means nothing here")]
    UnknownVariable {
        /// What stands between the braces.
        name: String,
    },
    /// It uses the directory of the project, and the file belongs to none.
    #[error("it uses ${{{name}}}, and the file belongs to no project")]
    NoProject {
        /// What stands between the braces.
        name: String,
    },
    /// A name that would be copied looks like a secret.
    #[error("{what} looks like a secret, which is not copied")]
    SecretName {
        /// Whose name: `its name`, `the name of a variable`.
        what: &'static str,
    },
    /// A member that names variables holds something else, which may be a value.
    #[error("{key:?} holds what is no name of a variable")]
    NotAVariable {
        /// The key.
        key: &'static str,
    },
    /// It would be longer than [`MAX_SERVER_BYTES`], with its notes.
    #[error("it is longer than {} KiB", MAX_SERVER_BYTES >> 10)]
    TooLong,
    /// The rules for servers of flyto refuse it.
    #[error("{message}")]
    Refused {
        /// The first finding.
        message: String,
    },
}
