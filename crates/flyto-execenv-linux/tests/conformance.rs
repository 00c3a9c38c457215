//! The contract on this backend, by each means of ending a tree.

#![cfg(supervised)]

use flyto_execenv::{ExecEnv, KillScope, Policies, Policy};
use flyto_execenv_linux::{KillRung, Linux};

/// Every program below a supervisor, also where its spec asks for less.
fn supervised(rung: KillRung) -> ExecEnv {
    let linux = Linux::with_rung(rung).expect("the rung works here");
    let all_of_it = Policy::new().kill(KillScope::Tree);
    ExecEnv::builder(linux).policies(Policies::new().other(all_of_it)).build()
}

mod as_asked {
    use super::*;

    flyto_execenv::executor_conformance!(ExecEnv::new(Linux::new()));
}

mod by_subreaper {
    use super::*;

    flyto_execenv::executor_conformance!(supervised(KillRung::Subreaper));
}

mod by_pid_namespace {
    use super::*;

    flyto_execenv::executor_conformance!(supervised(KillRung::PidNamespace));
}

mod by_cgroup {
    use super::*;

    flyto_execenv::executor_conformance!(supervised(KillRung::Cgroup));
}

mod by_group {
    use super::*;

    flyto_execenv::executor_conformance!(ExecEnv::new(
        Linux::with_rung(KillRung::Group).expect("it needs nothing")
    ));
}
