//! Exports spans of calls by OTLP, the protocol of OpenTelemetry, to a collector.
//!
//! [`layer`] gives a layer for the program's `tracing` subscriber, and a [`Guard`] that sends the rest at the end. It
//! does nothing until the environment names a collector. A program that has an OpenTelemetry layer already
//! needs none of this: the spans of the host reach that layer like any others.
//!
//! ```
//! use flyto_host::{Surroundings, otel};
//! use tracing_subscriber::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let surroundings = Surroundings::new(Default::default(), "/");
//! // Without OTEL_EXPORTER_OTLP_ENDPOINT there is none.
//! let (layer, guard) = otel::layer(&surroundings)?.unzip();
//! let _default = tracing_subscriber::registry().with(layer).set_default();
//! // … calls …
//! if let Some(guard) = guard {
//!     guard.finish()?;
//! }
//! # Ok(()) }
//! ```
//!
//! ## What is exported
//!
//! Spans of the levels `ERROR`, `WARN` and `INFO`: those of the host, one `execute_tool` for each call with its stages
//! in it, and those of the program that embeds it, so that a span around a call stays its parent. Without a
//! span around it, the parent is the current OpenTelemetry context.
//!
//! Of each span: the name, the times, the ids, the status without a description, and the attributes of this list.
//! Other attributes and all events are dropped, also those of the program and of its tools: they may hold
//! inputs, outputs and secrets. A program that wants more of its own exported takes the OpenTelemetry crates.
//!
//! | attribute | value |
//! | --- | --- |
//! | `gen_ai.operation.name` | `execute_tool` |
//! | `gen_ai.tool.name` | the tool's id |
//! | `gen_ai.tool.type` | `function` |
//! | `gen_ai.tool.call.id` | the id of the call |
//! | `mcp.method.name` | `tools/call`, of a tool that was imported from an MCP server |
//! | `error.type` | of a call without success: the kind of the failure or of the error, `refused` |
//! | `flyto.tool.origin` | `native`, `plugin`, `exec_file`, `evolved`, `mcp_server` |
//! | `flyto.permission.verdict` | what the rules say: `allow`, `ask`, `deny` |
//! | `flyto.parent_call.id` | the id of the call within which this one was made |
//! | `flyto.refused_by` | the stage that refused the call |
//! | `flyto.stage.name` | the name of a stage |
//!
//! Names follow the [conventions for generative AI](https://github.com/open-telemetry/semantic-conventions-genai) and
//! for MCP there, which are in development.
//!
//! ## Variables
//!
//! They are those of the [`Surroundings`]; the variables of the process are not used. An empty one counts as unset.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | `http://HOST[:PORT][/PATH]` of a collector, to which `/v1/traces` is added |
//! | `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` | the same, taken as it is; it wins |
//! | `OTEL_EXPORTER_OTLP_HEADERS`, `…_TRACES_HEADERS` | further headers, `name=value,…`, percent-encoded |
//! | `OTEL_EXPORTER_OTLP_TIMEOUT`, `…_TRACES_TIMEOUT` | milliseconds for one request; 10,000 without it |
//! | `OTEL_EXPORTER_OTLP_PROTOCOL`, `…_TRACES_PROTOCOL` | `http/protobuf` only |
//! | `OTEL_SERVICE_NAME` | the service; `flyto` without it |
//! | `OTEL_RESOURCE_ATTRIBUTES` | attributes of the service, `name=value,…`, percent-encoded |
//! | `OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG` | `parentbased_always_on` without it, `always_on`, `always_off`, `traceidratio`, `parentbased_always_off`, `parentbased_traceidratio` |
//! | `OTEL_TRACES_EXPORTER` | `otlp`, or `none`: nothing is exported |
//! | `OTEL_SDK_DISABLED` | `true`: nothing is exported |
//!
//! ## Bounds
//!
//! A thread of its own sends a batch every 5 s, or when 512 spans are there. 2,048 spans wait at most, further
//! ones are dropped, so that a collector that is slow never delays a call. A batch that a collector does not take is
//! dropped; nothing is sent twice. The guard waits [`FLUSH_LIMIT`] at most.
//!
//! Requests are HTTP/1.1 without TLS, compression and proxies. A collector that takes only `https` needs one beside the host
//! that passes spans on, such as the OpenTelemetry collector.

mod exporter; // a batch of spans becomes a request
mod settings; // what the variables say

use std::{
    error::Error,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use opentelemetry::{InstrumentationScope, trace::TracerProvider as _};
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, SpanLimits,
};
use tracing::{Level, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

use self::{exporter::Exporter, settings::Settings};
use crate::places::Surroundings;

/// How long a [`Guard`] waits for the spans that were not sent yet: 1 s, which a collector beside the host needs a
/// fraction of, and which a person at a terminal bears when it is unreachable.
pub const FLUSH_LIMIT: Duration = Duration::from_secs(1);

/// Why spans are not exported. No call fails for that.
#[derive(Debug)]
#[non_exhaustive]
pub enum OtelError {
    /// A variable says what cannot be done. Its value is not told: it may hold a token.
    Variable {
        /// The name of the variable.
        name: &'static str,
        /// What is wrong with it, and what is expected.
        why: String,
    },
    /// The system has no thread for the exporter.
    Thread {
        /// What the system said.
        source: std::io::Error,
    },
    /// Spans were made, and not all of them reached the collector. Later ones may have.
    NotExported {
        /// The last reason.
        why: String,
    },
}

impl fmt::Display for OtelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable { name, why } => write!(f, "the variable {name} cannot be used: {why}"),
            Self::Thread { .. } => f.write_str("failed to start the thread that exports spans"),
            Self::NotExported { why } => write!(f, "failed to export all spans: {why}"),
        }
    }
}

impl Error for OtelError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Thread { source } => Some(source),
            Self::Variable { .. } | Self::NotExported { .. } => None,
        }
    }
}

impl OtelError {
    fn variable(name: &'static str, why: impl Into<String>) -> Self {
        Self::Variable { name, why: why.into() }
    }
}

/// What went wrong last in the thread that exports.
type Problem = Arc<Mutex<Option<String>>>;

/// A layer that exports spans to the collector that `surroundings` name, and what ends it; `None` where they name
/// none or switch the export off. See [the module](self) for the variables, and for what is exported.
///
/// Nothing is sent by this call. The layer filters by itself and has no effect on other layers.
///
/// # Errors
///
/// [`OtelError::Variable`] for a variable that cannot be used, [`OtelError::Thread`].
pub fn layer<S>(
    surroundings: &Surroundings,
) -> Result<Option<(impl Layer<S> + Send + Sync + use<S>, Guard)>, OtelError>
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
{
    let Some(settings) = Settings::from_env(&surroundings.env)? else { return Ok(None) };
    let Settings { endpoint, headers, timeout, resource, sampler } = settings;
    // The processor starts one, and panics where there is none.
    let probe =
        thread::Builder::new().spawn(|| {}).map_err(|source| OtelError::Thread { source })?;
    let _ = probe.join();
    let problem = Problem::default();
    let exporter = Exporter::new(endpoint, headers, timeout, Arc::clone(&problem));
    // Each value is set: the defaults of these builders look at the variables of the process.
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(2048)
        .with_max_export_batch_size(512)
        .with_scheduled_delay(Duration::from_secs(5))
        .build();
    let provider = SdkTracerProvider::builder()
        .with_resource(resource)
        .with_sampler(sampler)
        .with_span_limits(SpanLimits::default())
        .with_span_processor(BatchSpanProcessor::new(exporter, batches))
        .build();
    let scope = InstrumentationScope::builder("flyto-host").with_version(env!("CARGO_PKG_VERSION"));
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer_with_scope(scope.build()))
        .with_location(false)
        .with_threads(false)
        .with_level(false)
        .with_target(false)
        .with_tracked_inactivity(false);
    let spans = filter_fn(|it| it.is_span() && *it.level() <= Level::INFO);
    let layer = layer.with_filter(spans.with_max_level_hint(LevelFilter::INFO));
    Ok(Some((layer, Guard { provider, problem })))
}

/// Sends the spans that were not sent yet when it ends, and waits [`FLUSH_LIMIT`] at most.
///
/// Keep it until the last call is over; spans that end later are lost. The wait blocks the thread: an async
/// program lets it end behind its runtime, or in a blocking task.
#[derive(Debug)]
#[must_use = "spans are lost without it"]
pub struct Guard {
    provider: SdkTracerProvider,
    problem: Problem,
}

impl Guard {
    /// Sends the rest, and says whether all spans reached the collector.
    ///
    /// # Errors
    ///
    /// [`OtelError::NotExported`]: the collector was unreachable, did not take a batch, or did not answer in time.
    pub fn finish(self) -> Result<(), OtelError> {
        let sent = self.provider.shutdown_with_timeout(FLUSH_LIMIT);
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (problem, sent) {
            (Some(why), _) => Err(OtelError::NotExported { why }),
            (None, Ok(())) => Ok(()),
            (None, Err(_)) => {
                let why = format!("the collector did not answer within {FLUSH_LIMIT:?}");
                Err(OtelError::NotExported { why })
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // After `finish` there is nothing to do. Why it failed has no reader here.
        let _ = self.provider.shutdown_with_timeout(FLUSH_LIMIT);
    }
}
