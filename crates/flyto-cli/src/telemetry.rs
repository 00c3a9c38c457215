//! Spans of a call, exported to the collector that the environment names.

use flyto_host::otel::{self, Guard, OtelError};
use tracing_subscriber::prelude::*;

use crate::screen::Screen;
use crate::session::Session;
use crate::stop::{Stop, chain};
use crate::words::tame;

/// The export of the spans of this program. Whatever goes wrong with it, the call goes on.
#[derive(Debug)]
pub(crate) struct Telemetry(Result<Option<Guard>, OtelError>);

impl Telemetry {
    /// Exports what happens from now on, where `OTEL_EXPORTER_OTLP_ENDPOINT` is set.
    pub(crate) fn start(session: &Session) -> Result<Self, Stop> {
        let started = otel::layer(&session.surroundings()?).map(|it| {
            let (layer, guard) = it?;
            // There is no other subscriber in this program.
            let _ = tracing_subscriber::registry().with(layer).try_init();
            Some(guard)
        });
        Ok(Self(started))
    }

    /// Sends what is left, for [`otel::FLUSH_LIMIT`] at most. With `--verbose`, says what was not sent.
    pub(crate) fn finish(self, screen: &Screen) {
        let sent = self.0.and_then(|guard| guard.map_or(Ok(()), Guard::finish));
        if let Err(err) = sent
            && screen.verbose
        {
            screen.note(format_args!("no trace: {}", tame(&chain(&err))));
        }
    }

    /// Ends without a wait: the process is about to end by a signal.
    pub(crate) fn abandon(self) {
        std::mem::forget(self);
    }
}
