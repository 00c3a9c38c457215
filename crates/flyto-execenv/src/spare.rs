//! Further tries of a start that finds too few processes, descriptors or memory while processes wait for other calls.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Chunk, Ending, ExecError, ExecErrorKind, Executor, Outcome, Running, Spec,
    begin::{at, begin, deadline_of},
    drive::{Plan, drive, streams_of},
    ready::Pool,
    report::Report,
};

/// How long the system may take to free what an ended process and its supervisor held: 50 ms.
const FREE_TIME: Duration = Duration::from_millis(50);

/// The processes that wait for other calls, and the call for whose start they may be ended.
///
/// Made before the first try, which consumes the spec. Callers box the futures of the further ones: few calls need them, and within
/// the future of a call each call would be as large.
pub(crate) struct Spare {
    pool: Arc<Pool>,
    spec: Spec,
    observer: Option<mpsc::Sender<Chunk>>,
    n_tries: u32,
}

impl Spare {
    /// `None` where no process waits or is being started.
    pub(crate) fn new(pool: Option<&Arc<Pool>>, spec: &Spec, plan: &Plan) -> Option<Box<Self>> {
        let pool = Arc::clone(pool.filter(|it| it.holds_any())?);
        let (spec, observer) = (spec.clone(), plan.observer.clone());
        Some(Box::new(Self { pool, spec, observer, n_tries: 0 }))
    }

    /// Starts the program again, and once more a little later, after a start that failed this way.
    pub(crate) async fn begin(
        mut self: Box<Self>,
        executor: &dyn Executor,
        deadline: Option<Instant>,
        cancel: &CancellationToken,
        mut failed: ExecError,
    ) -> Result<Result<Running, Ending>, ExecError> {
        while let Some(spec) = self.freed(deadline, cancel).await {
            match begin(executor.start(spec), Instant::now(), deadline, cancel).await {
                Err(err) if is_short(&err) => failed = err,
                res => return res,
            }
        }
        Err(failed)
    }

    /// Starts the program again, and once more a little later, and sees it to its end. A backend may tell only then that its start
    /// has failed.
    pub(crate) async fn run(
        mut self: Box<Self>,
        executor: &dyn Executor,
        mut report: Report,
        cancel: &CancellationToken,
        mut failed: ExecError,
    ) -> Result<Outcome, ExecError> {
        let deadline = deadline_of(&self.spec, report.started);
        while let Some(spec) = self.freed(deadline, cancel).await {
            let mut plan = Plan::new(&spec, deadline);
            plan.observer = self.observer.clone();
            let begun = begin(executor.start(spec), Instant::now(), deadline, cancel).await;
            let driven = match begun {
                Ok(Ok(running)) => {
                    let (streams, control) = streams_of(running, &mut report.enforced);
                    drive(&*control, streams, plan, cancel).await
                }
                Ok(Err(ending)) => return Ok(report.never_ran(ending)),
                Err(err) => Err(err),
            };
            match driven {
                Err(err) if is_short(&err) => failed = err,
                res => return Ok(report.finished(res?)),
            }
        }
        Err(failed)
    }

    /// The spec for another try, once what waited is gone; after that for one a little later, since the system frees with a delay
    /// what an ended process held. `None` after both. A call that is over waits no longer.
    async fn freed(
        &mut self,
        deadline: Option<Instant>,
        cancel: &CancellationToken,
    ) -> Option<Spec> {
        self.n_tries += 1;
        let freed = async {
            match self.n_tries {
                1 => self.pool.make_way().await,
                2 => sleep(FREE_TIME).await,
                _ => return false,
            }
            true
        };
        let tries_again = tokio::select! {
            biased;
            tries_again = freed => tries_again,
            () = cancel.cancelled() => true,
            () = at(deadline) => true,
        };
        tries_again.then(|| self.spec.clone())
    }
}

/// Whether a start found too few processes, descriptors or memory, before anything ran.
pub(crate) fn is_short(err: &ExecError) -> bool {
    err.kind() == ExecErrorKind::Exhausted && !err.did_start()
}
