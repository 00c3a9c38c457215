//! Templates: the words that run, for values of all kinds.

mod anything;
mod calls;
mod code;
mod differential;
mod hostile;
mod options;
mod refused;
mod shells;
mod values;
mod words;

use std::{fs, os::unix::fs::symlink, path::Path};

use expect_test::Expect;
use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_plugin::{Invocation, PluginContext, PluginTool, ToolDef};
use flyto_tools::{CallContext, Input, Tool, ToolResult};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The directories of programs, behind a place for a shell of the test's choice.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A plugin's directory, a session's, and the context of a host.
struct Host {
    dir: TempDir,
    ctx: PluginContext,
}

impl Host {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["plugin", "session", "bin"] {
            fs::create_dir(dir.path().join(name)).expect("created");
        }
        let path = format!("{}:{PATH}", dir.path().join("bin").display());
        let env = Environment::from_iter([("PATH", path.as_str()), ("HOME", "/home/ada")]);
        let ctx = PluginContext::new(ExecEnv::new(Local::new()), env);
        let ctx = ctx.session_dir(dir.path().join("session"));
        Self { dir, ctx }
    }

    /// A host on which `shell` is `sh`, if there is such a program.
    fn with_shell(shell: &str) -> Option<Self> {
        let host = Self::new();
        let found = Path::new("/bin").join(shell);
        found.exists().then(|| symlink(&found, host.dir.path().join("bin/sh")).expect("linked"))?;
        Some(host)
    }

    fn tool(&self, def: ToolDef) -> PluginTool {
        PluginTool::new(def, self.dir.path().join("plugin"), "p", self.ctx.clone())
    }

    async fn call(&self, def: ToolDef, input: Value) -> ToolResult {
        let input = Input::from_value(input);
        self.tool(def).execute(&CallContext::new(), input).await.expect("it was tried")
    }

    /// The words of a call, one a line as JSON, or why there are none.
    fn words(&self, def: ToolDef, input: Value) -> String {
        self.words_of(def, &Input::from_value(input))
    }

    fn words_of(&self, def: ToolDef, input: &Input) -> String {
        let preview = self.tool(def).preview(input).expect("it has one");
        let words =
            preview.command_line.iter().flatten().map(|it| format!("{}\n", Value::from(&**it)));
        // Which programs a machine has does not matter here.
        let problems = preview.problems.iter().filter(|it| !it.text.starts_with("failed to start"));
        let problems = problems.map(|it| format!("! {it}\n"));
        words.chain(problems).collect()
    }
}

/// A template of which these are the properties of the parameters.
fn template(command: &str, properties: Value) -> ToolDef {
    let parameters = json!({ "type": "object", "properties": properties });
    ToolDef::template("t", command, parameters).expect("a template")
}

fn uses_shell(def: &ToolDef) -> bool {
    match &def.invocation {
        Invocation::Template(template) => template.uses_shell(),
        other => panic!("{other:?}"),
    }
}

/// The words for the input `x`: `X Y`, `y`: `-y`, `n`: 5, and no `z`.
fn shown(command: &str) -> String {
    let properties = json!({"x": {}, "y": {"x-flyto-dash": true}, "n": {}, "z": {}});
    let schema = json!({"type": "object", "properties": properties});
    match ToolDef::template("t", command, schema) {
        Ok(def) => Host::new().words(def, json!({"x": "X Y", "y": "-y", "n": 5})),
        Err(err) => format!("{err}\n"),
    }
}

#[track_caller]
fn check(commands: &[&str], expect: Expect) {
    let each = commands.iter().map(|it| {
        let shown = shown(it).lines().map(|it| format!("    {it}\n")).collect::<String>();
        format!("{}\n{shown}", it.replace('\r', "\\r"))
    });
    expect.assert_eq(&each.collect::<String>());
}
