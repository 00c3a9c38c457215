//! A call whose name leads to no tool that may be used.

use flyto_tools::{CallContext, CallId, Input};

use crate::{error::CallError, permission::Caller};

/// A call whose name leads to no tool, or to one of a plugin that is held back, or whose input could not be read. It comes to no stage;
/// [`Stage::missing`](super::Stage::missing) tells each of it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct MissingCall<'a> {
    /// The name, as the caller wrote it: any text.
    pub name: &'a str,
    /// The input; `None` where it was not read for want of a tool.
    pub input: Option<&'a Input>,
    /// The context that the call would have had, with its id.
    pub ctx: &'a CallContext,
    /// On whose behalf the call was to be made; that of the host, unless a tool makes it.
    pub caller: Caller,
    /// The id of the call within which this one was to be made.
    pub parent: Option<&'a CallId>,
    /// The id of the call that this one was to take back.
    pub undoes: Option<&'a str>,
    /// Why there is no tool: [`CallError::NotFound`], [`CallError::PluginHeldBack`]. [`CallError::Refused`] where the tool of
    /// this name is another one than the record of an undoing has, or the input [could not be
    /// read](crate::Host::refuse_input).
    pub error: &'a CallError,
}

impl<'a> MissingCall<'a> {
    /// A call of an agent, by this name, of which [`Host::find`](crate::Host::find) said this.
    #[must_use]
    pub fn new(name: &'a str, ctx: &'a CallContext, error: &'a CallError) -> Self {
        let (input, caller, parent, undoes) = (None, Caller::Agent, None, None);
        Self { name, input, ctx, caller, parent, undoes, error }
    }

    /// The same with an input.
    #[must_use]
    pub fn input(mut self, input: &'a Input) -> Self {
        self.input = Some(input);
        self
    }

    /// The same as the inverse of another call.
    #[must_use]
    pub fn undoing(mut self, id: &'a str) -> Self {
        self.undoes = Some(id);
        self
    }
}
