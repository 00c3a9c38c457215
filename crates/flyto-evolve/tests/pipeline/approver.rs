//! An approver whose answers are a list.

use std::{collections::VecDeque, sync::Mutex};

use flyto_evolve::{Answer, Approver, ApproverError, Decision, Review};

/// What it does next; [`Answer::Save`] where nothing is left.
#[derive(Debug)]
pub(crate) enum Next {
    Answer(Answer),
    Fail,
    Panic,
}

#[derive(Debug, Default)]
pub(crate) struct Scripted {
    next: Mutex<VecDeque<Next>>,
    pub(crate) seen: Mutex<Vec<Review>>,
    /// By which name it answers; "ada" where there is none.
    name: Mutex<Option<String>>,
    /// Edits that were refused: the text, and why.
    pub(crate) refused: Mutex<Vec<(String, String)>>,
}

impl Scripted {
    pub(crate) fn then(&self, next: Next) {
        self.next.lock().unwrap().push_back(next);
    }

    pub(crate) fn answers(&self, answer: Answer) {
        self.then(Next::Answer(answer));
    }

    /// Answers by this name from now on.
    pub(crate) fn is_named(&self, name: &str) {
        *self.name.lock().unwrap() = Some(name.to_owned());
    }

    /// Takes back what it would do next.
    pub(crate) fn clear(&self) {
        self.next.lock().unwrap().clear();
    }

    pub(crate) fn last(&self) -> Review {
        self.seen.lock().unwrap().last().cloned().expect("something was shown")
    }

    pub(crate) fn n_seen(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

#[async_trait::async_trait]
impl Approver for Scripted {
    fn refused_edit(&self, text: &str, why: &str) {
        self.refused.lock().unwrap().push((text.to_owned(), why.to_owned()));
    }

    async fn review(&self, review: &Review) -> Result<Decision, ApproverError> {
        self.seen.lock().unwrap().push(review.clone());
        let next = self.next.lock().unwrap().pop_front();
        let by = self.name.lock().unwrap().clone().unwrap_or_else(|| "ada".to_owned());
        match next {
            None => Ok(Decision::new(Answer::Save, by)),
            Some(Next::Answer(answer)) => Ok(Decision::new(answer, by)),
            Some(Next::Fail) => Err(ApproverError::new("the terminal is gone")),
            Some(Next::Panic) => panic!("a fault of the approver"),
        }
    }
}
