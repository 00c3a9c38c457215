//! A program of another project that embeds the host as the README of flyto-host shows it, and calls one tool.
//!
//! `embedder TOOL` prints what it loaded, which profiles hold for the tool, and what came of the call.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "tests read it")]

use std::error::Error;

use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{CallError, Flags, Host, Surroundings, load_config, stages::Answer};
use flyto_tools::{CallContext, Input};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let tool = std::env::args().nth(1).ok_or("a tool is missing")?;

    // From here on as in the README, which a test compares.
    let surroundings = Surroundings::ambient()?;
    let mut flags = Flags::default();
    flags.plugins.push("fixtures/plugins".into());
    let (config, findings) = load_config(&surroundings, &flags)?;
    findings.iter().for_each(|it| eprintln!("{it}"));
    let host = Host::builder(ExecEnv::new(Local::new()), surroundings, config)
        .ask(|question| {
            println!("{}: {}", question.call.entry().id(), question.why);
            Answer::Yes
        })
        .build();
    host.registry().snapshot().iter().for_each(|it| println!("{}", it.id()));

    let call = host.prepare(&tool, Input::empty())?;
    let confinement = call.outline().confinement.ok_or("it is no program")?;
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
