//! A program of another project that embeds the host as the README of flyto-host shows it, and calls one tool.
//!
//! `embedder TOOL` prints what it loaded, which profiles hold for the tool, and what came of the call.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "tests read it")]

use std::error::Error;

use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{CallError, Flags, Host, Surroundings, load_config};
use flyto_tools::{CallContext, Input};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let tool = std::env::args().nth(1).ok_or("a tool is missing")?;

    // From here on as in the README, which a test compares.
    let surroundings = Surroundings::ambient()?;
    let mut flags = Flags::default();
    flags.plugins.push("fixtures/plugins".into());

    // A flag wins over FLYTO_… variables, those over the project's file, that over the user's.
    // Where a rule in one of them cannot be read, there is no configuration.
    let (config, findings) = load_config(&surroundings, &flags)?;
    for finding in findings.iter() {
        eprintln!("{finding}");
    }

    // Where programs run is injected; there is no default and no fall-back.
    let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
    for tool in host.registry().snapshot().iter() {
        println!("{}", tool.id());
    }

    let call = host.prepare(&tool, Input::empty())?;
    let confinement = call.confinement().ok_or("it is no program")?;
    println!("sandbox {}", confinement.sandbox.join(", "));
    match call.run(&CallContext::new()).await {
        Ok(result) => println!("result {}", result.output),
        Err(CallError::Tool(err)) => println!("{:?}: {}", err.kind(), chain(&err)),
        Err(err) => println!("{}", chain(&err)),
    }
    Ok(())
}

fn chain(err: &dyn Error) -> String {
    let mut res = err.to_string();
    let mut cause = err.source();
    while let Some(err) = cause {
        res += &format!(": {err}");
        cause = err.source();
    }
    res
}
