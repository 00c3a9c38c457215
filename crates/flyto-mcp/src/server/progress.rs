//! Progress of a call: what the tool reports, and a sign of life where it reports nothing.
//!
//! The protocol wants each value to be larger than the last one, while a tool may report the same share twice, go backwards, or report
//! nothing at all. A value is therefore the share in percent where that is larger than the last value, else the last value and a
//! thousandth. There is a total as long as the values are shares.
//!
//! Reports are not queued. Of one call the newest waits, which costs a slow client nothing but the reports that it would not have
//! had the time to show.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use flyto_tools::{CallContext, Progress};
use serde::Serialize;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::{message::Notification, outbox::Outbox, params::ProgressToken};

/// Shortest time between two notifications of one call: 100 ms, faster than which no person reads.
const MIN_PERIOD: Duration = Duration::from_millis(100);
/// The value for which a call is done.
const TOTAL: f64 = 100.0;
/// By how much a value grows where nothing more is known: the protocol wants each to be larger than the last.
const STEP: f64 = 0.001;
/// Most bytes of a message.
const MAX_MESSAGE_BYTES: usize = 500;

/// What a tool reported last. A newer report takes the place of one that was not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Latest {
    progress: Mutex<Option<Progress>>,
    changed: Notify,
    /// Where reports go as well, once the call is a job.
    job: OnceLock<CallContext>,
}

impl Latest {
    /// Takes a report; nothing waits.
    pub(crate) fn set(&self, progress: Progress) {
        if let Some(job) = self.job.get() {
            job.report(progress.progress(), progress.detail());
        }
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
        self.changed.notify_one();
    }

    /// Has later reports, and the latest one, go to the record of a job.
    pub(crate) fn forward(&self, job: CallContext) {
        if let Some(progress) = self.take() {
            job.report(progress.progress(), progress.detail());
        }
        let _ = self.job.set(job);
    }

    /// The newest report that was not sent yet.
    fn take(&self) -> Option<Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The parameters of `notifications/progress`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    progress_token: &'a ProgressToken,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    message: String,
}

/// Waits for a call, and tells the client of its progress meanwhile: at least every `heartbeat`, at most every 100 ms.
/// A client that does not read misses some.
pub(crate) async fn reported<T>(
    outbox: &Outbox,
    token: &ProgressToken,
    latest: &Arc<Latest>,
    heartbeat: Duration,
    call: impl Future<Output = T>,
) -> T {
    tokio::pin!(call);
    let begun = Instant::now();
    let mut earliest = begun;
    let mut value = 0.0;
    // Whether the values are shares of the whole.
    let mut is_share = false;
    loop {
        let report = async {
            sleep_until(earliest).await;
            latest.changed.notified().await;
        };
        tokio::select! {
            biased;
            res = &mut call => return res,
            () = report => {}
            () = sleep_until(earliest.max(begun) + heartbeat) => {}
        }
        let report = latest.take();
        is_share |= report.is_some();
        let share = report.as_ref().map_or(0.0, |it| it.progress() * TOTAL);
        value = f64::max(share, value + STEP);
        let detail = report.as_ref().map(Progress::detail).filter(|it| !it.is_empty());
        let message = match detail {
            Some(detail) => detail[..detail.floor_char_boundary(MAX_MESSAGE_BYTES)].to_owned(),
            None => format!("running for {} s", begun.elapsed().as_secs()),
        };
        let total = (is_share && value <= TOTAL).then_some(TOTAL);
        let params = ProgressParams { progress_token: token, progress: value, total, message };
        outbox.offer(&Notification::new("notifications/progress", params));
        earliest = Instant::now() + MIN_PERIOD;
    }
}
