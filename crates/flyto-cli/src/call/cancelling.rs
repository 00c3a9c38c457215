//! Signals to a program that shows nothing while a call runs.

use flyto_tools::CancellationToken;

use super::not_tried;
use super::signals::Kinds;
use crate::stop::Stop;

/// The first signal cancels the call, the second one drops it.
pub(super) struct Cancelling {
    kinds: Kinds,
    cancellation: CancellationToken,
    /// The number of the first one.
    pub(super) first: Option<u8>,
}

impl Cancelling {
    /// Listens from now on, within a runtime.
    pub(super) fn listen(cancellation: CancellationToken) -> Result<Self, Stop> {
        Ok(Self { kinds: Kinds::new().map_err(not_tried)?, cancellation, first: None })
    }

    /// Waits for what comes of `what`. The second signal is an error, and `what` is dropped.
    pub(super) async fn drive<T>(&mut self, what: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::pin!(what);
        loop {
            let number = tokio::select! {
                biased;
                res = &mut what => return Ok(res),
                number = self.kinds.next() => number,
            };
            match self.first {
                None => {
                    self.first = Some(number);
                    self.cancellation.cancel();
                }
                Some(first) => return Err(Stop::Killed(first)),
            }
        }
    }
}
