//! Calls a tool of a definition file:
//!
//! ```text
//! cargo run -p flyto-exectool --example call_file -- FILE NAME [INPUT]
//! ```
//!
//! `INPUT` is JSON; without it the tool gets no input. Findings go to stderr, the result's text to
//! stdout.

use std::{
    error::Error,
    io::{Write, stderr, stdout},
    process::ExitCode,
    sync::Arc,
};

use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_exectool::{ExecTool, HostContext, load_file};
use flyto_tools::{CallContext, Input, Tool};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (file, name, input) = match args.as_slice() {
        [file, name] => (file, name, Input::empty()),
        [file, name, input] => (file, name, Input::parse(input.as_str())?),
        _ => return Err("usage: call_file FILE NAME [INPUT]".into()),
    };

    let loaded = load_file(file);
    for finding in &loaded.findings {
        writeln!(stderr(), "{finding}")?;
    }
    let host = Arc::new(HostContext::new(Environment::ambient(), std::env::current_dir()?));
    let env = ExecEnv::new(Local::new());
    let mut tools = loaded
        .tools
        .into_iter()
        .flatten()
        .map(|definition| ExecTool::new(definition, env.clone(), Arc::clone(&host)));
    let tool = tools.find(|it| it.name() == name).ok_or("no such tool in the file")?;

    let result = tool.execute(&CallContext::new(), input).await?;
    stdout().write_all(result.output.as_bytes())?;
    Ok(if result.is_error() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
