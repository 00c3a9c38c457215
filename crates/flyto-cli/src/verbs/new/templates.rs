//! What a new plugin is made of: the files below `templates/`.

use crate::args::{Lang, Lifetime};

/// The name that the plugins have as they lie there; each is a plugin that works.
const NAME: &str = "my-plugin";

/// How their manifests say how long a process lives.
const LIFETIME: &str = "\"lifetime\": \"call\"";

/// How they say that the process of a call may be started before it, which that of a session is anyway.
const READY: &str = "      \"ready\": true,\n";

/// One file of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    /// Path within the plugin's directory.
    pub(super) path: &'static str,
    pub(super) text: String,
    pub(super) mode: Mode,
}

/// What may be done with a file, less what the umask takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Plain,
    Executable,
}

/// A plugin in a language.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template {
    files: &'static [(&'static str, &'static str, Mode)],
    /// Whether the manifest has a lifetime to choose.
    is_binary: bool,
}

macro_rules! text {
    ($path:literal) => {
        include_str!(concat!("../../../templates/", $path))
    };
}

const SH: Template = Template {
    files: &[
        ("README.md", text!("sh/README.md"), Mode::Plain),
        ("slug.sh", text!("sh/slug.sh"), Mode::Executable),
        ("plugin.json", text!("sh/plugin.json"), Mode::Plain),
    ],
    is_binary: false,
};

const PYTHON: Template = Template {
    files: &[
        ("README.md", text!("python/README.md"), Mode::Plain),
        ("slug.py", text!("python/slug.py"), Mode::Executable),
        ("plugin.json", text!("python/plugin.json"), Mode::Plain),
    ],
    is_binary: false,
};

const PYTHON_RPC: Template = Template {
    files: &[
        ("README.md", text!("python-rpc/README.md"), Mode::Plain),
        ("plugin.py", text!("python-rpc/plugin.py"), Mode::Executable),
        ("plugin.json", text!("python-rpc/plugin.json"), Mode::Plain),
    ],
    is_binary: true,
};

const NODE: Template = Template {
    files: &[
        ("README.md", text!("node/README.md"), Mode::Plain),
        ("plugin.mjs", text!("node/plugin.mjs"), Mode::Executable),
        ("plugin.json", text!("node/plugin.json"), Mode::Plain),
    ],
    is_binary: true,
};

/// `Cargo.toml` and `.gitignore` have other names in this repository, where they would take effect.
const RUST: Template = Template {
    files: &[
        (".gitignore", text!("rust/gitignore"), Mode::Plain),
        ("Cargo.toml", text!("rust/Cargo.toml.in"), Mode::Plain),
        ("README.md", text!("rust/README.md"), Mode::Plain),
        ("src/main.rs", text!("rust/src/main.rs"), Mode::Plain),
        ("plugin.json", text!("rust/plugin.json"), Mode::Plain),
    ],
    is_binary: true,
};

/// A call to try: the tool, and its input. Waiting shows what a session is good for.
pub(super) const fn example(lifetime: Lifetime) -> (&'static str, &'static str) {
    match lifetime {
        Lifetime::Call => ("slug", "text=Hello, World!"),
        Lifetime::Session => ("wait", "seconds:=2"),
    }
}

impl Template {
    /// The plugin to start from. `None`: a program in this language cannot live that long.
    pub(super) const fn of(lang: Lang, lifetime: Lifetime) -> Option<Self> {
        Some(match (lang, lifetime) {
            (Lang::Sh, Lifetime::Call) => SH,
            (Lang::Sh, Lifetime::Session) => return None,
            (Lang::Python, Lifetime::Call) => PYTHON,
            (Lang::Python, Lifetime::Session) => PYTHON_RPC,
            (Lang::Node, _) => NODE,
            (Lang::Rust, _) => RUST,
        })
    }

    /// The files of a plugin of this name, its manifest last.
    pub(super) fn files(&self, name: &str, lifetime: Lifetime) -> Vec<File> {
        let named = |text: &str| text.replace(NAME, name);
        let text = |path: &str, text: &str| match lifetime {
            Lifetime::Session if self.is_binary && path == flyto_plugin::MANIFEST_FILE => {
                named(text).replace(LIFETIME, "\"lifetime\": \"session\"").replace(READY, "")
            }
            _ => named(text),
        };
        let file = |it: &(&'static str, &str, Mode)| File {
            path: it.0,
            text: text(it.0, it.1),
            mode: it.2,
        };
        self.files.iter().map(file).collect()
    }
}
