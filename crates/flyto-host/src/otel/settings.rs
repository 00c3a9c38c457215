//! What the variables `OTEL_…` of an environment say.

use std::{ffi::OsStr, time::Duration};

use flyto_execenv::Environment;
use opentelemetry::KeyValue;
use opentelemetry_sdk::{
    Resource,
    resource::{ResourceDetector as _, TelemetryResourceDetector},
    trace::Sampler,
};
use percent_encoding::percent_decode_str;

use super::OtelError;

/// Where spans go, and how.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) endpoint: Endpoint,
    pub(super) headers: Headers,
    pub(super) timeout: Duration,
    pub(super) resource: Resource,
    pub(super) sampler: Sampler,
}

/// The URL of a collector.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// As the header `Host` has it.
    pub(super) authority: String,
    /// The same with a port.
    pub(super) address: String,
    pub(super) path: String,
}

/// Lines of a request, each with its end.
#[derive(Default, PartialEq, Eq)]
pub(super) struct Headers(pub(super) String);

// They may hold a token.
impl std::fmt::Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Headers").finish_non_exhaustive()
    }
}

/// A variable for all signals, and the one for traces, which wins.
type Names = [&'static str; 2];

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const HEADERS: Names = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
const TIMEOUT: Names = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
const PROTOCOL: Names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";
const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const SAMPLER_ARG: &str = "OTEL_TRACES_SAMPLER_ARG";
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";
const DISABLED: &str = "OTEL_SDK_DISABLED";

/// Headers that every request has already.
const OWN_HEADERS: [&str; 5] =
    ["host", "content-type", "content-length", "connection", "transfer-encoding"];

impl Settings {
    /// What `env` says; `None` where nothing is to be exported.
    pub(super) fn from_env(env: &Environment) -> Result<Option<Self>, OtelError> {
        if text(env, DISABLED)?.is_some_and(|it| it.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        match text(env, EXPORTER)? {
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(_) => return Err(OtelError::variable(EXPORTER, "expected otlp or none")),
        }
        let endpoint = match (text(env, TRACES_ENDPOINT)?, text(env, ENDPOINT)?) {
            (Some(url), _) => Endpoint::parse(TRACES_ENDPOINT, url)?,
            (None, Some(url)) => {
                let mut endpoint = Endpoint::parse(ENDPOINT, url)?;
                endpoint.path = format!("{}/v1/traces", endpoint.path.trim_end_matches('/'));
                endpoint
            }
            (None, None) => return Ok(None),
        };
        if let Some((name, _)) = first(env, PROTOCOL)?.filter(|(_, it)| *it != "http/protobuf") {
            return Err(OtelError::variable(name, "only http/protobuf is supported"));
        }
        let timeout = match first(env, TIMEOUT)? {
            None => Duration::from_secs(10),
            Some((name, it)) => match it.parse() {
                Ok(n @ 1..) => Duration::from_millis(n),
                _ => return Err(OtelError::variable(name, "expected milliseconds above 0")),
            },
        };
        Ok(Some(Self {
            endpoint,
            headers: headers(env)?,
            timeout,
            resource: resource(env)?,
            sampler: sampler(env)?,
        }))
    }
}

impl Endpoint {
    fn parse(name: &'static str, url: &str) -> Result<Self, OtelError> {
        let err = |why: &str| Err(OtelError::variable(name, why));
        let is_url = url.bytes().all(|it| it.is_ascii_graphic());
        let Some((scheme, rest)) = url.split_once("://").filter(|_| is_url) else {
            return err("expected a URL, as in http://127.0.0.1:4318");
        };
        if scheme.eq_ignore_ascii_case("https") {
            return err("https is not supported; send to a collector beside the host by http");
        }
        if !scheme.eq_ignore_ascii_case("http") {
            return err("expected a URL that starts with http://");
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains('@') || rest.contains(['?', '#']) {
            return err("a user, a query and a fragment are not supported");
        }
        let port = match authority.rsplit_once(':') {
            Some((_, port)) if !authority.ends_with(']') => Some(port),
            _ => None,
        };
        let address = match port {
            Some(port) if port.parse::<u16>().is_ok() => authority.to_owned(),
            Some(_) => return err("expected a port from 0 to 65535 behind the colon"),
            None => format!("{authority}:80"),
        };
        if address.starts_with(':') {
            return err("the URL has no host");
        }
        let path = if path.is_empty() { "/" } else { path };
        Ok(Self { authority: authority.to_owned(), address, path: path.to_owned() })
    }
}

fn headers(env: &Environment) -> Result<Headers, OtelError> {
    let mut res = String::new();
    let Some((name, list)) = first(env, HEADERS)? else { return Ok(Headers(res)) };
    for (key, value) in pairs(name, list)? {
        let is_token = |it: u8| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&it);
        if !key.bytes().all(is_token) || OWN_HEADERS.iter().any(|it| key.eq_ignore_ascii_case(it)) {
            return Err(OtelError::variable(name, format!("{key:?} cannot be set as a header")));
        }
        // RFC 9110, section 5.5; a line break would begin another header.
        if !value.bytes().all(|it| it == b'\t' || it == b' ' || it.is_ascii_graphic()) {
            let why = format!("the value of {key:?} has characters that no header may have");
            return Err(OtelError::variable(name, why));
        }
        res += &format!("{key}: {value}\r\n");
    }
    Ok(Headers(res))
}

fn resource(env: &Environment) -> Result<Resource, OtelError> {
    let mut attributes = vec![("service.name".to_owned(), "flyto".to_owned())];
    if let Some(list) = text(env, RESOURCE)? {
        attributes.extend(pairs(RESOURCE, list)?);
    }
    if let Some(name) = text(env, SERVICE_NAME)? {
        attributes.push(("service.name".to_owned(), name.to_owned()));
    }
    // The last of a name holds.
    let attributes = attributes.into_iter().map(|(key, value)| KeyValue::new(key, value));
    let sdk = TelemetryResourceDetector.detect();
    let sdk = sdk.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    Ok(Resource::builder_empty().with_attributes(sdk.chain(attributes)).build())
}

fn sampler(env: &Environment) -> Result<Sampler, OtelError> {
    let ratio = || match text(env, SAMPLER_ARG)?.map_or(Ok(1.0), str::parse) {
        Ok(it) if (0.0..=1.0).contains(&it) => Ok(Sampler::TraceIdRatioBased(it)),
        _ => Err(OtelError::variable(SAMPLER_ARG, "expected a number from 0 to 1")),
    };
    let (sampler, is_root) = match text(env, SAMPLER)? {
        None | Some("parentbased_always_on") => (Sampler::AlwaysOn, true),
        Some("parentbased_always_off") => (Sampler::AlwaysOff, true),
        Some("parentbased_traceidratio") => (ratio()?, true),
        Some("always_on") => (Sampler::AlwaysOn, false),
        Some("always_off") => (Sampler::AlwaysOff, false),
        Some("traceidratio") => (ratio()?, false),
        Some(_) => {
            let why =
                "expected always_on, always_off, traceidratio, or one of these behind parentbased_";
            return Err(OtelError::variable(SAMPLER, why));
        }
    };
    Ok(if is_root { Sampler::ParentBased(Box::new(sampler)) } else { sampler })
}

/// The pairs of `name=value,…`; values are percent-encoded.
fn pairs(name: &'static str, list: &str) -> Result<Vec<(String, String)>, OtelError> {
    let items = list.split(',').map(str::trim).filter(|it| !it.is_empty());
    items
        .map(|it| {
            let (key, value) = it.split_once('=').map(|(k, v)| (k.trim(), v.trim()))?;
            let value = percent_decode_str(value).decode_utf8().ok()?;
            (!key.is_empty()).then(|| (key.to_owned(), value.into_owned()))
        })
        .collect::<Option<_>>()
        .ok_or_else(|| {
            OtelError::variable(name, "expected name=value,… with percent-encoded values")
        })
}

fn first(env: &Environment, names: Names) -> Result<Option<(&'static str, &str)>, OtelError> {
    for name in names {
        if let Some(value) = text(env, name)? {
            return Ok(Some((name, value)));
        }
    }
    Ok(None)
}

/// The value of a variable; `None` for an empty one, as the specification demands.
fn text<'a>(env: &'a Environment, name: &'static str) -> Result<Option<&'a str>, OtelError> {
    match env.get(name).map(OsStr::to_str) {
        None | Some(Some("")) => Ok(None),
        Some(Some(it)) => Ok(Some(it.trim())),
        Some(None) => Err(OtelError::variable(name, "it is no UTF-8")),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(env: &[(&str, &str)], expect: Expect) {
        let res = match Settings::from_env(&env.iter().copied().collect()) {
            Ok(None) => "off".to_owned(),
            Err(err) => err.to_string(),
            Ok(Some(it)) => {
                let Settings { endpoint, headers, timeout, resource, sampler } = it;
                let service =
                    resource.iter().filter(|(it, _)| !it.as_str().starts_with("telemetry"));
                let mut service: Vec<_> = service.map(|(k, v)| format!("{k}={v}")).collect();
                service.sort();
                format!(
                    "{} {} {}\n{:?} {timeout:?} {sampler:?}\n{}",
                    endpoint.authority,
                    endpoint.address,
                    endpoint.path,
                    headers.0,
                    service.join(" "),
                )
            }
        };
        expect.assert_eq(&res);
    }

    #[test]
    fn nothing_is_exported_unless_a_collector_is_named() {
        let collector = (ENDPOINT, "http://127.0.0.1:4318");
        check(&[], expect!["off"]);
        check(&[(ENDPOINT, "")], expect!["off"]);
        check(&[collector, (DISABLED, "TRUE")], expect!["off"]);
        check(&[collector, (EXPORTER, "none")], expect!["off"]);
        check(
            &[collector, (DISABLED, "false"), (EXPORTER, "otlp")],
            expect![[r#"
            127.0.0.1:4318 127.0.0.1:4318 /v1/traces
            "" 10s ParentBased(AlwaysOn)
            service.name=flyto"#]],
        );
    }

    #[test]
    fn the_variable_for_traces_wins() {
        check(
            &[
                (ENDPOINT, "http://a:1/x/"),
                (HEADERS[1], "authorization=Bearer%20t, x-a = b"),
                (TIMEOUT[1], "250"),
                (RESOURCE, "service.name=a,deployment.environment.name=b%2Cc"),
                (SERVICE_NAME, "agent"),
                (SAMPLER, "parentbased_traceidratio"),
                (SAMPLER_ARG, "0.5"),
            ],
            expect![[r#"
                a:1 a:1 /x/v1/traces
                "authorization: Bearer t\r\nx-a: b\r\n" 250ms ParentBased(TraceIdRatioBased(0.5))
                deployment.environment.name=b,c service.name=agent"#]],
        );
        check(
            &[
                (ENDPOINT, "http://a:1/x/"),
                (TRACES_ENDPOINT, "HTTP://[::1]/y"),
                (HEADERS[1], "a=1"),
                (HEADERS[0], "b=2"),
                (TIMEOUT[1], "250"),
                (TIMEOUT[0], "300"),
                (SAMPLER, "always_off"),
            ],
            expect![[r#"
                [::1] [::1]:80 /y
                "b: 2\r\n" 300ms AlwaysOff
                service.name=flyto"#]],
        );
    }

    #[test]
    fn a_url_that_cannot_be_used_is_told_without_its_value() {
        for url in [
            "127.0.0.1:4318",
            "https://a",
            "unix:///a",
            "http://me:hunter2@a",
            "http://a/?hunter2",
            "http://a:hunter2",
            "http://:1",
            "http://a/\r\nx: y",
        ] {
            let env = [(ENDPOINT, url)].into_iter().collect();
            let err = Settings::from_env(&env).expect_err("it cannot be used").to_string();
            assert!(err.starts_with("the variable OTEL_EXPORTER_OTLP_ENDPOINT cannot be used: "));
            assert!(!err.contains("hunter2"), "{err}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_used_is_told_with_its_variable() {
        let collector = (ENDPOINT, "http://a");
        check(
            &[collector, (PROTOCOL[1], "grpc")],
            expect![
                "the variable OTEL_EXPORTER_OTLP_PROTOCOL cannot be used: only http/protobuf is supported"
            ],
        );
        check(
            &[collector, (TIMEOUT[1], "0")],
            expect![
                "the variable OTEL_EXPORTER_OTLP_TIMEOUT cannot be used: expected milliseconds above 0"
            ],
        );
        check(
            &[collector, (HEADERS[1], "hunter2")],
            expect![
                "the variable OTEL_EXPORTER_OTLP_HEADERS cannot be used: expected name=value,… with percent-encoded values"
            ],
        );
        check(
            &[collector, (HEADERS[1], "a=hunter2%0D%0Ax: y")],
            expect![[
                r#"the variable OTEL_EXPORTER_OTLP_HEADERS cannot be used: the value of "a" has characters that no header may have"#
            ]],
        );
        check(
            &[collector, (HEADERS[1], "Host=a")],
            expect![[
                r#"the variable OTEL_EXPORTER_OTLP_HEADERS cannot be used: "Host" cannot be set as a header"#
            ]],
        );
        check(
            &[collector, (SAMPLER, "jaeger_remote")],
            expect![
                "the variable OTEL_TRACES_SAMPLER cannot be used: expected always_on, always_off, traceidratio, or one of these behind parentbased_"
            ],
        );
        check(
            &[collector, (SAMPLER, "traceidratio"), (SAMPLER_ARG, "2")],
            expect![
                "the variable OTEL_TRACES_SAMPLER_ARG cannot be used: expected a number from 0 to 1"
            ],
        );
        check(
            &[collector, (EXPORTER, "console")],
            expect!["the variable OTEL_TRACES_EXPORTER cannot be used: expected otlp or none"],
        );
        check(
            &[collector, (RESOURCE, "a=%ff")],
            expect![
                "the variable OTEL_RESOURCE_ATTRIBUTES cannot be used: expected name=value,… with percent-encoded values"
            ],
        );
    }
}
