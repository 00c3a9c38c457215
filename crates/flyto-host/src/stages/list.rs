//! The list of stages, and how a host developer changes it.

use std::{fmt, sync::Arc};

use super::Stage;
use crate::prepared::Prepared;

/// Stages in the order in which a call comes to them. Each name is there once.
///
/// [`HostBuilder::stages`](crate::HostBuilder::stages) hands out the list of a host that is being built.
#[derive(Clone, Default)]
pub struct Stages(Vec<Arc<dyn Stage>>);

/// Why a list of stages was not changed. It is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// There is no stage of this name.
    #[error("there is no stage {name:?}; there are {there}", there = there.join(", "))]
    NotFound {
        /// The name that was asked for.
        name: String,
        /// The stages that are there, in their order.
        there: Vec<String>,
    },
    /// A stage of this name is there already.
    #[error("there is a stage {name:?} already; replace it, or give the other one its own name")]
    Taken {
        /// The name.
        name: String,
    },
}

impl Stages {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Their names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|it| it.name())
    }

    /// The stage of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&dyn Stage> {
        self.0.iter().find(|it| it.name() == name).map(|it| &**it)
    }

    /// Adds a stage behind all others.
    ///
    /// # Errors
    ///
    /// [`StageError::Taken`].
    pub fn push(mut self, stage: impl Stage) -> Result<Self, StageError> {
        self.check_free(stage.name())?;
        self.0.push(Arc::new(stage));
        Ok(self)
    }

    /// Adds a stage in front of the one of a name.
    ///
    /// # Errors
    ///
    /// [`StageError::NotFound`], [`StageError::Taken`].
    pub fn insert_before(mut self, name: &str, stage: impl Stage) -> Result<Self, StageError> {
        self.check_free(stage.name())?;
        let at = self.position(name)?;
        self.0.insert(at, Arc::new(stage));
        Ok(self)
    }

    /// Adds a stage right behind the one of a name.
    ///
    /// # Errors
    ///
    /// [`StageError::NotFound`], [`StageError::Taken`].
    pub fn insert_after(mut self, name: &str, stage: impl Stage) -> Result<Self, StageError> {
        self.check_free(stage.name())?;
        let at = self.position(name)?;
        self.0.insert(at + 1, Arc::new(stage));
        Ok(self)
    }

    /// Puts a stage in the place of the one of a name. It may have that name, too.
    ///
    /// # Errors
    ///
    /// [`StageError::NotFound`], [`StageError::Taken`].
    pub fn replace(mut self, name: &str, stage: impl Stage) -> Result<Self, StageError> {
        let at = self.position(name)?;
        if stage.name() != name {
            self.check_free(stage.name())?;
        }
        self.0[at] = Arc::new(stage);
        Ok(self)
    }

    /// Takes the stage of a name out.
    ///
    /// # Errors
    ///
    /// [`StageError::NotFound`].
    pub fn remove(mut self, name: &str) -> Result<Self, StageError> {
        let at = self.position(name)?;
        self.0.remove(at);
        Ok(self)
    }

    /// Moves the stage of a name in front of another one.
    ///
    /// # Errors
    ///
    /// [`StageError::NotFound`].
    pub fn move_before(mut self, name: &str, other: &str) -> Result<Self, StageError> {
        let at = self.position(name)?;
        self.position(other)?;
        let stage = self.0.remove(at);
        let to = self.0.iter().position(|it| it.name() == other).unwrap_or(at);
        self.0.insert(to, stage);
        Ok(self)
    }

    /// The first stage that would refuse a call, and why it does so.
    pub(crate) fn refusal(&self, call: &Prepared) -> Option<(&str, String)> {
        self.iter().find_map(|it| Some((it.name(), it.refuses(call)?)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &dyn Stage> {
        self.0.iter().map(|it| &**it)
    }

    pub(super) fn at(&self, index: usize) -> Option<&dyn Stage> {
        self.0.get(index).map(|it| &**it)
    }

    fn position(&self, name: &str) -> Result<usize, StageError> {
        self.0.iter().position(|it| it.name() == name).ok_or_else(|| StageError::NotFound {
            name: name.to_owned(),
            there: self.names().map(str::to_owned).collect(),
        })
    }

    fn check_free(&self, name: &str) -> Result<(), StageError> {
        match self.get(name) {
            Some(_) => Err(StageError::Taken { name: name.to_owned() }),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
