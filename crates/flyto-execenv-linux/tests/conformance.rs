//! The contract on this backend, by each means of ending a tree.

#![cfg(supervised)]

use flyto_execenv::{ExecEnv, KillScope, Policies, Policy};
use flyto_execenv_linux::{KillMechanism, Linux};

/// Every program below a supervisor, also where its spec asks for less.
fn supervised(mechanism: KillMechanism) -> ExecEnv {
    let linux = Linux::with_mechanism(mechanism).expect("the mechanism works here");
    let all_of_it = Policy::new().kill(KillScope::Tree);
    ExecEnv::builder(linux).policies(Policies::new().other(all_of_it)).build()
}

mod as_asked {
    use super::*;

    flyto_execenv::executor_conformance!(ExecEnv::new(Linux::new()));
}

mod by_subreaper {
    use super::*;

    flyto_execenv::executor_conformance!(supervised(KillMechanism::Subreaper));
}

mod by_pid_namespace {
    use super::*;

    flyto_execenv::executor_conformance!(supervised(KillMechanism::PidNamespace));
}

mod by_cgroup {
    use super::*;

    flyto_execenv::executor_conformance!(supervised(KillMechanism::Cgroup));
}

mod by_process_group {
    use super::*;

    flyto_execenv::executor_conformance!(ExecEnv::new(
        Linux::with_mechanism(KillMechanism::Group).expect("it needs nothing")
    ));
}
