//! What a handle does with the processes that wait.

use std::sync::Arc;

use super::{Pool, ReadyOptions};
use crate::ExecEnv;

impl ExecEnv {
    /// The same executors under the same policies, with a pool of its own: what waits for calls of this handle waits for
    /// calls of no other one. With [`ReadyOptions::processes`] 0 it keeps none.
    ///
    /// ```
    /// use flyto_execenv::{ExecEnv, ReadyOptions, local::Local};
    ///
    /// let env = ExecEnv::new(Local::new()).with_ready(ReadyOptions::new().processes(2));
    /// assert_eq!(env.waiting_processes(), 0);
    /// ```
    #[must_use]
    pub fn with_ready(&self, options: ReadyOptions) -> Self {
        self.with_pool(Pool::new(options))
    }

    /// How many processes wait for a call ([`ExecEnvBuilder::ready`](crate::ExecEnvBuilder::ready)).
    #[must_use]
    pub fn waiting_processes(&self) -> usize {
        self.pool().map_or(0, |it| it.n_waiting())
    }

    /// Ends the processes that wait, and those that are being started to wait: what would be started now may differ. None is
    /// started after a call that runs. The next call of a program starts its own, and after it the next one waits.
    pub fn end_waiting(&self) {
        if let Some(pool) = self.pool() {
            pool.end_all();
        }
    }

    /// Ends the processes that wait and those that are being started to wait, and returns when they are gone. None is kept from
    /// now on: for a host that ends. It holds for every clone of the handle; calls start their own processes.
    ///
    /// A process that the system holds on to is not waited for beyond 2 s, and a start that does not end not beyond 5 s.
    pub async fn stop_waiting(&self) {
        if let Some(pool) = self.pool() {
            pool.close().await;
        }
    }

    fn pool(&self) -> Option<&Arc<Pool>> {
        self.inner.ready.as_ref()
    }
}
