//! Starts from the host's environment and adds the spec's to it.

use flyto_execenv::{Environment, Spec};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct LeaksTheEnvironment;

impl Fault for LeaksTheEnvironment {
    fn spec(&self, mut spec: Spec) -> Spec {
        // With PATH it would break the lookup as well.
        let mut env = Environment::ambient();
        env.remove("PATH");
        env.extend(spec.env);
        spec.env = env;
        spec
    }
}

#[test]
fn the_hosts_variables_reach_the_program() {
    check::<LeaksTheEnvironment>(&["env-starts-empty"]);
}
