//! `keep-job`: the process that owns the call of a job.
//!
//! It was started by `call --background`, whose terminal and pipes it does not hold: its standard input is the lock of
//! the job, its standard output a pipe by which it says that it has begun, its standard error a file.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};

use flyto_host::jobs::{JobEnd, JobId, JobStore, JobWorker};
use flyto_tools::CallContext;
use rustix::stdio::{dup2_stdin, dup2_stdout};

use super::background::{READY, store};
use super::cancelling::Cancelling;
use super::{Made, check_descriptors, is_in_a_hurry, not_tried, report, settled};
use crate::args::KeepJob;
use crate::exit::{Exit, Why};
use crate::session::{Backend, Session};
use crate::stop::{Stop, chain};

pub(crate) fn keep(args: &KeepJob, session: &Session) -> Result<Exit, Stop> {
    // Neither the end of the caller's terminal nor its Ctrl-C reaches another session. It fails for the leader of a
    // process group, which is no program that a caller has started for this.
    let _ = rustix::process::setsid();
    let (lock, mut ready) = streams().map_err(Stop::internal)?;
    let id = JobId::parse(&args.id)
        .ok_or_else(|| Stop::usage(format!("{:?} is no id of a job", args.id)))?;
    let session = session.clone().in_dir(&args.dir);
    let store: JobStore = store(&session)?;
    let worker =
        JobWorker::take(&store, &id, lock).map_err(|err| Stop::new(Why::Failed, chain(&err)))?;
    // A caller that has ended meanwhile does not need to know.
    let _ = ready.write_all(&[READY]);
    drop(ready);

    let end = match make(args, &worker, &session) {
        Ok(made) => end_of(&worker.request().tool, &made),
        Err(stop) => Err(stop),
    };
    let end = end.unwrap_or_else(|stop| {
        let (exit, document) = stop.into_document();
        JobEnd::new(exit.code(), document)
    });
    let recorded = worker.end_or(&end, |err| {
        let what = format!("the result of the call could not be recorded: {err}");
        let stop = Stop::new(Why::OutputLost, what);
        let (exit, document) =
            stop.with_help("make room on the disk of the state directory").into_document();
        JobEnd::new(exit.code(), document)
    });
    recorded.map_err(|err| Stop::new(Why::OutputLost, chain(&err)))?;
    Ok(Exit::Ok)
}

/// Takes the lock and the pipe over, and puts nothing in their place: no program that is started from here on inherits
/// them.
fn streams() -> io::Result<(OwnedFd, File)> {
    let lock = io::stdin().as_fd().try_clone_to_owned()?;
    let ready = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    Ok((lock, ready))
}

fn end_of(name: &str, made: &Made) -> Result<JobEnd, Stop> {
    let document = report::document(name, made);
    let mut text = serde_json::to_string_pretty(&document).map_err(Stop::internal)?;
    text.push('\n');
    Ok(JobEnd::new(made.exit.code(), text))
}

/// Makes the call, as `call` does; its listeners are the worker's.
fn make(args: &KeepJob, worker: &JobWorker, session: &Session) -> Result<Made, Stop> {
    let loaded = session.load(args.output_limit, Backend::Job)?;
    let request = worker.request();
    let call = loaded.host.prepare_entry(
        loaded.find_to_call(&request.tool, Some(&request.input))?,
        request.input.clone(),
    );
    check_descriptors().map_err(not_tried)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(not_tried)?;
    let ctx = worker.context(CallContext::new());
    let ctx = args.timeout.into_iter().fold(ctx, CallContext::with_timeout);
    let (report, signal) = runtime.block_on(async {
        let mut signals = Cancelling::listen(worker.cancellation().clone())?;
        let report = signals.drive(call.clone().run_reported(&ctx)).await?;
        if is_in_a_hurry(&report.result) || worker.cancellation().is_cancelled() {
            signals.drive(loaded.abort()).await?;
        } else {
            // The process of a session has its time to end as well, unless the job is cancelled.
            let close = async {
                tokio::select! {
                    () = loaded.close() => {}
                    () = worker.cancellation().cancelled() => loaded.abort().await,
                }
            };
            signals.drive(close).await?;
        }
        if let Some(evolved) = &loaded.evolved {
            // There is no terminal to tell of statistics that are lost.
            let _: Option<String> = signals.drive(evolved.flush()).await?;
        }
        Ok::<_, Stop>((report, signals.first))
    })?;
    settled(report, &loaded, &call, call.outline(), signal)
}
