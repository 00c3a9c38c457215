//! Embeds the tools of a file in a program: shows them in the form that a model's service takes, then
//! calls one.
//!
//! ```sh
//! cargo run -p flyto-host --example embed
//! cargo run -p flyto-host --example embed -- my-tools.json my_tool '{"text": "hi"}'
//! ```

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what it does")]

use std::{
    env,
    path::Path,
    time::{Duration, Instant},
};

use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{Config, Host, Surroundings};
use flyto_tools::{
    CallContext, DescribeContext, Input,
    export::{Format, export},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = env::args().skip(1);
    let file = words.next();
    let name = words.next().unwrap_or_else(|| "echo_input".to_owned());
    let input = words.next().unwrap_or_else(|| r#"{"text": "two words"}"#.to_owned());

    // A host does what its configuration says and nothing else: here, one file with tools. `load_config`
    // reads the configuration of the user and of the project instead.
    let mut config = Config::default();
    config.exec_tools.push(match file {
        Some(file) => env::current_dir()?.join(file),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tools.json"),
    });
    // What a model calls is asked first, and without a handler that is a refusal. The user of this example names
    // the tool, which allows it.
    config.permissions.allow(&name)?;

    // `Local` ends process groups and confines nothing; on Linux, flyto-execenv-linux does both.
    let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, config);
    for finding in host.report().findings() {
        eprintln!("{finding}");
    }

    let tools =
        export(host.registry().snapshot().iter(), Format::OpenAiResponses, &DescribeContext::new());
    println!("{}", serde_json::to_string_pretty(&tools.tools)?);

    // An error says why there was no call. What the program did, its failure included, is a result.
    let ctx = CallContext::new().with_deadline(Instant::now() + Duration::from_secs(10));
    let result = host.call(&name, Input::parse(input)?, &ctx).await?;
    println!("failure: {:?}\n{}", result.failure, result.output);

    // Processes of session plugins end here, and not when the program exits.
    host.close().await;
    Ok(())
}
