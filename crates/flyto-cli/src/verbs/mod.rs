//! What each verb answers.

mod audit;
mod completions;
mod config;
#[cfg(target_os = "linux")]
#[path = "doctor_linux.rs"]
mod doctor;
#[cfg(not(target_os = "linux"))]
#[path = "doctor_unix.rs"]
mod doctor;
mod evolve;
mod explain;
mod export;
mod import;
mod install;
mod jobs;
mod list;
mod new;
mod permission;
mod schema;
mod serve;
mod servers;
mod show;
mod trust;
mod validate;

use crate::args::{PermissionWhat, Verb};
use crate::exit::Exit;
use crate::session::Session;
use crate::stop::Stop;

pub(crate) fn run(verb: &Verb, session: &Session) -> Result<Exit, Stop> {
    match verb {
        Verb::List(args) => list::run(args, session),
        Verb::Show(args) => show::run(args, session),
        Verb::Call(args) => crate::call::run(args, session),
        Verb::Serve(args) => serve::run(args, session),
        Verb::Servers(args) => servers::run(args, session),
        Verb::Export(args) => export::run(args, session),
        Verb::Install(args) => install::run(args, session),
        Verb::Import(args) => import::run(args, session),
        Verb::Validate(args) => validate::run(args, session),
        Verb::Schema(args) => schema::run(args, session),
        Verb::Config(args) => config::run(args, session),
        Verb::Permission(args) => match &args.what {
            PermissionWhat::Test(args) => permission::test(args, session),
        },
        Verb::Audit(args) => audit::run(args, session),
        Verb::Evolve(args) => evolve::run(args, session),
        Verb::Trust(args) => trust::run(args, session),
        Verb::New(args) => new::run(args, session),
        Verb::Doctor(_) => doctor::run(session),
        Verb::Explain(args) => explain::run(args, session),
        Verb::Completions(args) => completions::run(args, session),
        Verb::Jobs(args) => jobs::run(args, session),
        Verb::Undo(args) => crate::call::undo(args, session),
        Verb::KeepJob(args) => crate::call::keep(args, session),
    }
}
