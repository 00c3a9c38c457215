//! Reads ahead of the caller as far as the program will go.

use flyto_execenv::{BoxedReader, Running, Spec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct BuffersWithoutBound;

impl Fault for BuffersWithoutBound {
    fn running(&self, _: &Spec, mut running: Running) -> Running {
        running.stdout = running.stdout.map(|mut inner| {
            let (reader, mut ahead) = tokio::io::simplex(usize::MAX / 2);
            tokio::spawn(async move {
                let mut buffer = vec![0; 64 * 1024];
                while let Ok(n @ 1..) = inner.read(&mut buffer).await {
                    if ahead.write_all(&buffer[..n]).await.is_err() {
                        return;
                    }
                }
                let _ = ahead.shutdown().await;
            });
            Box::new(reader) as BoxedReader
        });
        running
    }
}

#[test]
fn the_program_runs_ahead_of_its_observer() {
    check::<BuffersWithoutBound>(&["slow-observer-slows-the-program"]);
}
