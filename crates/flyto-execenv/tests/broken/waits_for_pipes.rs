//! Takes the end of output for the end of the program.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use async_trait::async_trait;
use flyto_execenv::{BoxedReader, Control, Ended, ExecError, Exit, Running, Signal, Spec, Target};
use tokio::{
    io::{AsyncRead, ReadBuf},
    sync::watch,
};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct WaitsForPipes;

impl Fault for WaitsForPipes {
    fn running(&self, _: &Spec, mut running: Running) -> Running {
        let (open, all_closed) = watch::channel(());
        let mut tie = |inner: BoxedReader| -> BoxedReader {
            Box::new(Tied { inner, open: Some(open.clone()) })
        };
        running.stdout = running.stdout.map(&mut tie);
        running.stderr = running.stderr.map(&mut tie);
        running.control = Box::new(Waiting { right: running.control, all_closed });
        running
    }
}

/// A stream that lets go of the channel at its end.
struct Tied {
    inner: BoxedReader,
    open: Option<watch::Sender<()>>,
}

impl AsyncRead for Tied {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let res = Pin::new(&mut self.inner).poll_read(cx, buf);
        if res.is_ready() && buf.filled().len() == before {
            self.open = None;
        }
        res
    }
}

#[derive(Debug)]
struct Waiting {
    right: Box<dyn Control>,
    all_closed: watch::Receiver<()>,
}

#[async_trait]
impl Control for Waiting {
    async fn wait(&self) -> Result<Exit, ExecError> {
        let exit = self.right.wait().await?;
        // An error means that no stream holds a sender any more.
        while self.all_closed.clone().changed().await.is_ok() {}
        Ok(exit)
    }

    fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError> {
        self.right.signal(signal, target)
    }

    async fn end(&self, grace: std::time::Duration) -> Result<Ended, ExecError> {
        self.right.end(grace).await
    }
}

/// Quiet or chatty, a holder of the pipe is waited for.
#[test]
fn a_held_pipe_holds_up_the_call() {
    check::<WaitsForPipes>(&["exited-then-closed", "chatty-leaker-is-cut-off"]);
}
