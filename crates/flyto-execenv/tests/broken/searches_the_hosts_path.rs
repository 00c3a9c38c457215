//! Looks for a bare name on the host's `PATH` where the spec's has nothing.

use flyto_execenv::{Environment, Spec};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct SearchesTheHostsPath;

impl Fault for SearchesTheHostsPath {
    fn spec(&self, mut spec: Spec) -> Spec {
        let name = spec.program.as_os_str().to_owned();
        if name.to_string_lossy().contains('/') {
            return spec;
        }
        let find = |env: &Environment| {
            let dirs = std::env::split_paths(env.get("PATH")?).collect::<Vec<_>>();
            dirs.into_iter().map(|it| it.join(&name)).find(|it| it.is_file())
        };
        if find(&spec.env).is_none()
            && let Some(program) = find(&Environment::ambient())
        {
            spec.program = program.into();
        }
        spec
    }
}

#[test]
fn a_name_is_found_that_the_spec_does_not_offer() {
    check::<SearchesTheHostsPath>(&["lookup-is-the-specs"]);
}
