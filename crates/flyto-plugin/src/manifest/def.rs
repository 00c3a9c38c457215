//! What a manifest declares: values that are read, and that a host can make as well.
//!
//! Fields are public, since a host may set any value that a manifest could. What a manifest
//! promises beyond that (names by the rules, schemas that compile, paths that stay inside) is
//! checked by the reader, and not by these types.

use std::{
    ffi::OsString,
    fmt,
    path::PathBuf,
    sync::{Arc, LazyLock},
    time::Duration,
};

use flyto_diagnostics::Span;
use flyto_execenv::{Declared, Limits, Network, Sha256};
use flyto_tools::{Metadata, PermissionClass};
use serde_json::json;

use super::{lazy::Schema, servers::def::ServerDef};
use crate::{
    rules::PluginRule,
    template::{Template, TemplateError},
};

/// The time a tool gets whose manifest names none: 30 s.
///
/// A tool is one step of a model that waits for it; what takes longer says so itself.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The time without a call after which the program of a session is asked to stop, where the manifest
/// names none: 300 s. Starting it anew costs milliseconds, and keeping it memory.
pub const DEFAULT_IDLE: Duration = Duration::from_secs(300);

/// The longest time that a manifest can ask for: one week. What is longer is a slip of the pen, such
/// as milliseconds, or a service, which is no tool.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The longest grace that a manifest can ask for: 10 minutes. A person who cancels waits for it.
pub const MAX_GRACE: Duration = Duration::from_secs(10 * 60);

/// What a plugin says about itself and its tools.
///
/// A manifest of another format has the same value: the names of its keys are gone here.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Manifest {
    /// The name, which keeps the rules of [`check_plugin_name`](crate::check_plugin_name).
    ///
    /// A [`Filter`](crate::Filter) and the grants know the plugin by this name.
    pub name: String,
    /// The version in whatever form the author counts; not blank.
    pub version: Option<String>,
    /// What the plugin is for, for people.
    pub description: Option<String>,
    /// The author.
    pub author: Option<String>,
    /// The tools that can be used, in the order of the manifest. An entry with an error is not
    /// among them; see [`Plugin::refused`](crate::Plugin::refused).
    pub tools: Vec<ToolDef>,
    /// The servers of the Model Context Protocol that are in order, in the order of the text. This
    /// crate starts none of them.
    pub servers: Vec<ServerDef>,
    /// The rules of permission for calls of `tools` and of what `servers` offer, in the order of the text: those that ask,
    /// then those that deny.
    pub rules: Arc<[PluginRule]>,
}

/// How one tool is declared: what it is called and what runs.
///
/// A manifest gives these, and a host that embeds a program of its own makes them with
/// [`ToolDef::argv`] or [`ToolDef::template`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolDef {
    /// The name within the plugin.
    ///
    /// From a manifest it keeps the rule for its form, see
    /// [`check_tool_name`](crate::check_tool_name). A host calls the tool by `PLUGIN:NAME`,
    /// where it belongs to a plugin.
    pub name: String,
    /// What the tool does and when to use it, for the model.
    ///
    /// May be blank; a manifest with a blank one has a warning.
    pub description: String,
    /// JSON Schema of the input; an object at its root.
    ///
    /// Default: any object. The tool does not check a call against it; the host does.
    pub input_schema: Schema,
    /// JSON Schema of the result, for a tool that prints JSON.
    ///
    /// A tool that has one must print one JSON value, or answer with `data`; any other output is
    /// a failure.
    pub output_schema: Option<Schema>,
    /// Whether the result is a list of blocks of the Model Context Protocol, such as text and images: the program prints
    /// `{"content": […]}`, or answers with `content` in the place of `output`. See [`Content`](flyto_tools::Content).
    ///
    /// Default: `false`, and no output is taken for one. Without effect beside an output schema.
    pub blocks: bool,
    /// What is run for a call.
    pub invocation: Invocation,
    /// Variables that the program gets beside those every plugin program has.
    ///
    /// Default: none. The value may refer to variables of the host; see
    /// [`StrictEnv`](crate::StrictEnv).
    pub env: Declared,
    /// The directory in which the program starts. An argv tool starts in the plugin's, and a relative
    /// one is taken from there; others start in the session's, and a relative one is taken from there.
    /// Default: where it would be taken from.
    pub work_dir: Option<PathBuf>,
    /// The time from the start until the program is ended. Zero is [`DEFAULT_TIMEOUT`].
    /// A caller with a shorter time of its own ends the call earlier.
    pub timeout: Duration,
    /// The time between asking the program to stop and killing it. Zero kills at once.
    /// Default: zero. For a session it is how long an answer is waited for after the call was
    /// cancelled.
    pub grace: Duration,
    /// Upper bounds that the tool sets itself. The operator's policy may be tighter.
    /// A limit that the backend cannot keep refuses every call.
    pub limits: Limits,
    /// What its program may reach on the network at most; `None` is what its class may. Never [`Network::Host`] in a
    /// manifest: a tool can ask for less, and not for more.
    pub network: Option<Network>,
    /// The sandbox profile that holds for its program beside those of its class, by a name of the host
    /// ([`PluginContext::profiles`](crate::PluginContext::profiles)).
    pub sandbox: Option<String>,
    /// The digest of the file that must run.
    ///
    /// A call whose file has another one is refused by the backend. `None` lets any bytes run.
    pub sha256: Option<Sha256>,
    /// Whether output is shown as it comes, and `::progress 0.4 text` on stderr is progress.
    /// Default: `false`.
    pub stream: bool,
    /// Whether the program does nothing but load before it reads its input, so that a host may start it before a call
    /// (see [`Spec::ready`](flyto_execenv::Spec::ready)). Without effect on a template, and on a session.
    /// Default: `false`.
    pub ready: bool,
    /// The tool that takes a call back.
    /// Default: `None`, which says nothing about whether the call can be taken back.
    pub undo: Option<UndoDef>,
    /// What the tool declares about itself. Aliases are names within the plugin; the origin is set
    /// when the tool is made.
    pub metadata: Metadata,
}

/// What is run for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Invocation {
    /// A program with fixed arguments, which reads the input as JSON from stdin. No shell.
    Argv {
        /// A name that is looked up in `PATH`, or a path; a relative path is taken from the
        /// working directory.
        command: OsString,
        /// The arguments, byte for byte.
        args: Vec<OsString>,
    },
    /// A command line with placeholders. The program reads nothing.
    Template(Template),
    /// The program of a binary plugin, which reads requests in JSON-RPC 2.0 from stdin, one a line,
    /// and answers each with a line on stdout. No arguments.
    Rpc {
        /// The program: a path within the plugin's directory.
        path: PathBuf,
        /// How long one process lives.
        lifetime: Lifetime,
    },
}

/// How long one process of a binary plugin lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lifetime {
    /// For one call: it reads one request and end of input.
    Call,
    /// For many calls of all tools of the plugin, beside and after each other.
    Session {
        /// The time without a call after which it is asked to stop, by end of input.
        idle: Duration,
    },
}

impl Invocation {
    /// The form in which a manifest declares it.
    ///
    /// The variants of the two enums go together one to one.
    #[must_use]
    pub const fn form(&self) -> ToolForm {
        match self {
            Self::Argv { .. } => ToolForm::Argv,
            Self::Template(_) => ToolForm::Template,
            Self::Rpc { .. } => ToolForm::Binary,
        }
    }
}

/// Which tool takes a call back. It is called with the input of the call that is taken back.
///
/// The tool stands under its own name, without the plugin's. Nothing is taken back by itself: a
/// result only offers the call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoDef {
    /// The name of a tool of the same plugin.
    pub tool: String,
    /// What taking it back does, in words for people.
    pub description: String,
}

impl UndoDef {
    /// Calling `tool` with the same input takes the call back; `description` says so in words.
    #[must_use]
    pub fn new(tool: impl Into<String>, description: impl Into<String>) -> Self {
        Self { tool: tool.into(), description: description.into() }
    }
}

impl ToolDef {
    /// A tool that runs `command` with `args`, and everything else as in a manifest that says no
    /// more: any object as input, [`DEFAULT_TIMEOUT`], the permission class `bash`.
    ///
    /// ```
    /// use flyto_plugin::ToolDef;
    ///
    /// let mut kernel = ToolDef::argv("kernel", "uname", ["-r"]);
    /// kernel.description = "Returns the release of the running kernel.".to_owned();
    /// kernel.metadata.read_only = Some(true);
    /// ```
    ///
    /// Nothing is checked: a program that is not there shows when the tool is called.
    #[must_use]
    pub fn argv(
        name: impl Into<String>,
        command: impl Into<OsString>,
        args: impl IntoIterator<Item: Into<OsString>>,
    ) -> Self {
        Self::new(
            name,
            Invocation::Argv {
                command: command.into(),
                args: args.into_iter().map(Into::into).collect(),
            },
        )
    }

    /// A tool that the program at `path`, a path within the plugin's directory, carries out as
    /// JSON-RPC, in a process of its own for each call. Everything else as for [`argv`](Self::argv).
    #[must_use]
    pub fn rpc(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self::new(name, Invocation::Rpc { path: path.into(), lifetime: Lifetime::Call })
    }

    /// The defaults of a manifest, for the constructors above.
    fn new(name: impl Into<String>, invocation: Invocation) -> Self {
        let mut metadata = Metadata::new();
        metadata.permission_class = PermissionClass::BASH;
        Self {
            name: name.into(),
            description: String::new(),
            input_schema: any_object().clone(),
            output_schema: None,
            blocks: false,
            invocation,
            env: Declared::new(),
            work_dir: None,
            timeout: DEFAULT_TIMEOUT,
            grace: Duration::ZERO,
            limits: Limits::new(),
            network: None,
            sandbox: None,
            sha256: None,
            stream: false,
            ready: false,
            undo: None,
            metadata,
        }
    }

    /// A tool that runs a command line in which `{{name}}` stands for a parameter, and everything else
    /// as in a manifest that says no more. `parameters` is the JSON Schema of the input.
    ///
    /// ```
    /// use flyto_plugin::ToolDef;
    /// use serde_json::json;
    ///
    /// let parameters = json!({
    ///     "type": "object",
    ///     "properties": { "path": { "type": "string" } },
    ///     "required": ["path"]
    /// });
    /// let status = ToolDef::template("status", "git -C {{path}} status --short", parameters)?;
    /// assert_eq!(status.name, "status");
    /// # Ok::<(), flyto_plugin::TemplateError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TemplateError`] where the command cannot be read, is more than one command, or has a
    /// placeholder where its value would decide what runs.
    pub fn template(
        name: impl Into<String>,
        command: impl AsRef<str>,
        parameters: impl Into<Schema>,
    ) -> Result<Self, TemplateError> {
        let (command, parameters) = (command.as_ref(), parameters.into());
        let properties = parameters.value().get("properties");
        let is_declared = |name: &str| properties.is_some_and(|it| it.get(name).is_some());
        let reading = Template::read(command, &is_declared)
            .map_err(|fault| TemplateError::new(command, fault))?;
        let mut res = Self::argv(name, "", [] as [&str; 0]);
        res.invocation = Invocation::Template(reading.template);
        res.input_schema = parameters;
        Ok(res)
    }

    /// The form in which the tool is declared.
    #[must_use]
    pub const fn form(&self) -> ToolForm {
        self.invocation.form()
    }
}

/// The schema of a tool that names none.
pub(super) fn any_object() -> &'static Schema {
    static ANY: LazyLock<Schema> = LazyLock::new(|| {
        json!({"type": "object", "properties": {}, "additionalProperties": true}).into()
    });
    &ANY
}

/// The three ways to declare a tool. Which one it is, is decided for each tool, first fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolForm {
    /// The plugin says `"execution": "binary"`: its one program answers JSON-RPC for all its tools.
    Binary,
    /// The tool has `parameters`: its `command` is a line with `{{name}}` in it.
    Template,
    /// Else: `command` is a program and `args` are its arguments.
    Argv,
}

impl ToolForm {
    /// The name in messages and reports: `argv`, `template`, `binary`.
    ///
    /// `binary` is also a word of `execution`; the other two are not.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Template => "template",
            Self::Argv => "argv",
        }
    }
}

impl fmt::Display for ToolForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An entry of `tools` that cannot be used; the findings say why.
///
/// A report can name the tool by it, and a reload can tell whether an edit broke it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedTool {
    /// The name as it is written, where one is.
    pub name: Option<String>,
    /// The form in which it is declared.
    pub form: ToolForm,
    /// Where the entry stands in the manifest.
    pub span: Span,
}

/// A manifest that can be used, and where in the text its parts stand.
#[derive(Debug, PartialEq)]
pub(crate) struct Read {
    /// What the manifest says, without the parts that cannot be used.
    pub(crate) manifest: Manifest,
    /// The value of `name` in the text.
    pub(crate) name: Span,
    /// The entries of the tools that can be used, in their order.
    pub(crate) tools: Vec<Span>,
    /// The other entries, in their order.
    pub(crate) refused: Vec<RefusedTool>,
}
