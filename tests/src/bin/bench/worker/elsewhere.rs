//! The backend for Linux, where there is none.

use tokio::runtime::Runtime;

use super::Variant;
use crate::{
    Result,
    job::{Job, Sample},
};

pub(super) fn call(variant: Variant, _job: &Job, _runtime: &Runtime) -> Result<Sample> {
    Err(format!("{} is for Linux", variant.name()).into())
}

pub(super) fn works(variant: Variant) -> bool {
    use Variant as V;
    !matches!(
        variant,
        V::Group
            | V::GroupSixWorkers
            | V::GroupOneThread
            | V::Tree
            | V::TreeSixWorkers
            | V::TreeOneThread
            | V::Cgroup
            | V::Confined
            | V::Namespace
    )
}
