//! The clock around the calls.

use std::{
    fs::File,
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};
use tokio::{runtime::Runtime, task::JoinSet};

use crate::{
    Result,
    job::{CHILDREN_CPU_US, Job, P50_US, PER_SECOND, SELF_CPU_US, Sample},
    system,
};

/// Measures calls that block: one thread for each in flight.
pub(super) fn blocking(job: &Job, call: fn(&Job) -> Result) -> Result<Sample> {
    let _host = Host::new(job)?;
    for _ in 0..job.warm_up {
        call(job)?;
    }
    let next = AtomicUsize::new(0);
    let keep_calling = || -> Result<Vec<Duration>> {
        let mut res = Vec::with_capacity(job.calls);
        while next.fetch_add(1, Ordering::Relaxed) < job.calls {
            let began = Instant::now();
            call(job)?;
            res.push(began.elapsed());
        }
        Ok(res)
    };
    let watch = Watch::start()?;
    let latencies = if job.in_flight == 1 {
        keep_calling()?
    } else {
        thread::scope(|scope| -> Result<Vec<Duration>> {
            let threads: Vec<_> = (0..job.in_flight).map(|_| scope.spawn(keep_calling)).collect();
            let mut res = Vec::new();
            for thread in threads {
                res.extend(thread.join().map_err(|_| "a thread panicked")??);
            }
            Ok(res)
        })?
    };
    watch.stop(latencies)
}

/// Measures calls that are awaited: one task for each in flight.
pub(super) fn concurrent<F, Fut>(job: &Job, runtime: &Runtime, call: F) -> Result<Sample>
where
    F: Fn(Arc<Job>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result> + Send,
{
    let _host = Host::new(job)?;
    let job = Arc::new(job.clone());
    // A host makes its calls in tasks, on the runtime's own threads.
    let task = runtime.spawn(async move {
        for _ in 0..job.warm_up {
            call(Arc::clone(&job)).await?;
        }
        let next = Arc::new(AtomicUsize::new(0));
        let keep_calling = || {
            let (job, next, call) = (Arc::clone(&job), Arc::clone(&next), call.clone());
            async move {
                let mut res = Vec::with_capacity(job.calls);
                while next.fetch_add(1, Ordering::Relaxed) < job.calls {
                    let began = Instant::now();
                    call(Arc::clone(&job)).await?;
                    res.push(began.elapsed());
                }
                Result::Ok(res)
            }
        };
        let watch = Watch::start()?;
        let mut latencies = Vec::new();
        if job.in_flight == 1 {
            latencies = keep_calling().await?;
        } else {
            let mut tasks = JoinSet::new();
            for _ in 0..job.in_flight {
                tasks.spawn(keep_calling());
            }
            while let Some(res) = tasks.join_next().await {
                latencies.extend(res??);
            }
        }
        watch.stop(latencies)
    });
    runtime.block_on(task)?
}

/// What a host holds while it makes its calls.
struct Host {
    _descriptors: Vec<File>,
    memory: Vec<u8>,
}

impl Host {
    fn new(job: &Job) -> Result<Self> {
        let open = |_| File::open("/dev/null");
        let descriptors = (0..job.descriptors).map(open).collect::<std::io::Result<_>>()?;
        // Any value but zero touches every page.
        let memory = vec![1; job.memory_mib << 20];
        Ok(Self { _descriptors: descriptors, memory: black_box(memory) })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The memory counts as used until here.
        black_box(&self.memory);
    }
}

/// Wall time and CPU time from here on.
pub(super) struct Watch {
    began: Instant,
    self_cpu_us: i64,
    children_cpu_us: i64,
}

impl Watch {
    pub(super) fn start() -> Result<Self> {
        Ok(Self {
            self_cpu_us: cpu_us(UsageWho::RUSAGE_SELF)?,
            children_cpu_us: cpu_us(UsageWho::RUSAGE_CHILDREN)? + system::living_children_cpu_us(),
            began: Instant::now(),
        })
    }

    fn stop(self, latencies: Vec<Duration>) -> Result<Sample> {
        let n_calls = latencies.len();
        self.stop_after(latencies, n_calls)
    }

    /// Stops after so many calls, which may have been measured several at a time.
    pub(super) fn stop_after(self, mut latencies: Vec<Duration>, n_calls: usize) -> Result<Sample> {
        let elapsed = self.began.elapsed();
        let self_cpu_us = cpu_us(UsageWho::RUSAGE_SELF)? - self.self_cpu_us;
        let children_cpu_us = cpu_us(UsageWho::RUSAGE_CHILDREN)? + system::living_children_cpu_us()
            - self.children_cpu_us;
        latencies.sort_unstable();
        let n_calls = n_calls as f64;
        let p50 = latencies.get(latencies.len() / 2).ok_or("no call was made")?;
        Ok(Sample::default()
            .with(P50_US, p50.as_secs_f64() * 1e6)
            .with(PER_SECOND, n_calls / elapsed.as_secs_f64())
            .with(SELF_CPU_US, self_cpu_us as f64 / n_calls)
            .with(CHILDREN_CPU_US, children_cpu_us as f64 / n_calls))
    }
}

fn cpu_us(who: UsageWho) -> Result<i64> {
    let usage = getrusage(who)?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds())
}
