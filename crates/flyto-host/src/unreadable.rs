//! A call whose input could not be read.

use flyto_program::chain;
use flyto_tools::{CallContext, Entry, InputError};

use crate::{
    error::{CallError, Refusal},
    host::Host,
    stages::{MissingCall, names},
};

impl Host {
    /// Refuses a call of this tool whose input could not be read, for example as JSON, and tells the stages of it, so that the
    /// log has the call. For a program that reads inputs by [`Input::parse`](flyto_tools::Input::parse) and has none to call the tool with.
    ///
    /// ```
    /// use flyto_execenv::{ExecEnv, local::Local};
    /// use flyto_host::{CallError, Config, Host, Surroundings, stages::names};
    /// use flyto_tools::{CallContext, Input, NativeTool, NoInput};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let surroundings = Surroundings::ambient()?;
    /// # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
    /// let host = Host::new(ExecEnv::new(Local::new()), surroundings, Config::default());
    /// host.add_tool("me", NativeTool::builder("ping", "Answers.").run(async |_, _: NoInput| "pong")?)?;
    /// let ping = host.find("ping")?;
    /// let why = Input::parse("{").expect_err("it is no JSON");
    /// match host.refuse_input(&ping, &CallContext::new(), &why).await {
    ///     CallError::Refused(refusal) => assert_eq!(refusal.stage, names::VALIDATE),
    ///     other => panic!("{other:?}"),
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn refuse_input(
        &self,
        entry: &Entry,
        ctx: &CallContext,
        why: &InputError,
    ) -> CallError {
        let tool = entry.id().to_string();
        let refusal = Refusal::of_tool(tool, names::VALIDATE, chain(why));
        let err = CallError::from(refusal);
        self.missing(MissingCall::new(entry.id().as_str(), ctx, &err)).await;
        err
    }
}
