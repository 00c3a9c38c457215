//! The stage that has a call challenged before it is made.

use std::{error::Error, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    Call, Next, Stage, StageResult,
    checkpoint::{NoAnswer, guarded},
    names,
};

/// What a challenger found: the counter-arguments to a call, kept with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Deliverable {
    /// What the call takes for granted.
    pub hidden_assumptions: Vec<String>,
    /// How the call could go wrong.
    pub failure_scenarios: Vec<String>,
    /// The conclusion, in a word. It informs and refuses nothing.
    pub verdict: String,
    /// Why.
    pub verdict_reason: String,
}

impl Deliverable {
    /// A conclusion and its reason.
    #[must_use]
    pub fn new(verdict: impl Into<String>, reason: impl Into<String>) -> Self {
        let (verdict, verdict_reason) = (verdict.into(), reason.into());
        Self { verdict, verdict_reason, ..Self::default() }
    }

    /// Adds something that the call takes for granted.
    #[must_use]
    pub fn assumption(mut self, text: impl Into<String>) -> Self {
        self.hidden_assumptions.push(text.into());
        self
    }

    /// Adds a way in which the call could go wrong.
    #[must_use]
    pub fn scenario(mut self, text: impl Into<String>) -> Self {
        self.failure_scenarios.push(text.into());
        self
    }
}

/// Argues against a call before it is made: a model that is asked, say.
#[async_trait]
pub trait Challenger: std::fmt::Debug + Send + Sync + 'static {
    /// Argues against a call.
    ///
    /// # Errors
    ///
    /// There is no argument, for whatever reason. The call goes on, and the record says why.
    async fn challenge(&self, call: &Call) -> Result<Deliverable, Box<dyn Error + Send + Sync>>;
}

/// What became of the challenge of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Challenged {
    /// The tool asks for none.
    #[default]
    NotRequired,
    /// The tool asks for one, and the host has no challenger.
    NoChallenger,
    /// The challenger failed, for this reason.
    Failed(String),
    /// What the challenger found.
    By(Deliverable),
}

/// Has a [`Challenger`] look at the call of a tool with
/// [`requires_reverse_thinking`](flyto_tools::Metadata::requires_reverse_thinking), and keeps what it found
/// with the call. It refuses no call.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Challenge {
    challenger: Option<Arc<dyn Challenger>>,
}

impl Challenge {
    /// A stage with this challenger; without one, calls go on and their record says so.
    #[must_use]
    pub fn new(challenger: Option<Arc<dyn Challenger>>) -> Self {
        Self { challenger }
    }
}

#[async_trait]
impl Stage for Challenge {
    fn name(&self) -> &str {
        names::REVERSE_THINKING
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        if call.entry().tool().metadata().requires_reverse_thinking {
            call.challenged = match &self.challenger {
                None => Challenged::NoChallenger,
                Some(challenger) => match guarded(call, challenger.challenge(call)).await {
                    Ok(deliverable) => Challenged::By(deliverable),
                    Err(NoAnswer::Failed(why)) => Challenged::Failed(why),
                    Err(NoAnswer::Ended(end)) => {
                        call.challenged = Challenged::Failed(end.to_string());
                        return Ok(call.end_in(names::REVERSE_THINKING, end, None));
                    }
                },
            };
        }
        next.run(call).await
    }
}
