//! Stops listening once it has asked the program to end.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use async_trait::async_trait;
use flyto_execenv::{BoxedReader, Control, Ended, ExecError, Running, Spec};
use tokio::io::{AsyncRead, ReadBuf};

use super::{ControlFault, Fault, break_control, check};

#[derive(Debug)]
pub(super) struct HangsUp;

impl Fault for HangsUp {
    fn running(&self, _: &Spec, mut running: Running) -> Running {
        let asked = Arc::new(AtomicBool::new(false));
        running.stdout = running
            .stdout
            .map(|inner| Box::new(UntilAsked { inner, asked: Arc::clone(&asked) }) as BoxedReader);
        break_control(running, Asking(asked))
    }
}

struct UntilAsked {
    inner: BoxedReader,
    asked: Arc<AtomicBool>,
}

impl AsyncRead for UntilAsked {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let res = Pin::new(&mut self.inner).poll_read(cx, buf);
        if self.asked.load(Ordering::Relaxed) && res.is_ready() {
            // What arrives now is taken for nothing.
            buf.set_filled(before);
        }
        res
    }
}

struct Asking(Arc<AtomicBool>);

#[async_trait]
impl ControlFault for Asking {
    async fn end(&self, control: &dyn Control, grace: Duration) -> Result<Ended, ExecError> {
        self.0.store(!grace.is_zero(), Ordering::Relaxed);
        control.end(grace).await
    }
}

#[test]
fn last_words_are_lost() {
    check::<HangsUp>(&["grace-asks-first"]);
}
