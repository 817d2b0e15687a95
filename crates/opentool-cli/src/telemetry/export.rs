//! Spans to a collector: OTLP over HTTP, set up by the standard `OTEL_*` variables.

use std::{env, sync::OnceLock, time::Duration};

use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{SdkTracer, SdkTracerProvider},
};

use crate::{
    failure::Failure,
    terminal::{visible, warn},
};

/// How long the last spans may take to leave.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

static ACTIVE: OnceLock<Export> = OnceLock::new();

/// The export of spans, of which there is one in the process.
#[derive(Debug)]
pub(crate) struct Export(SdkTracerProvider);

impl Export {
    /// The export, where there is one.
    pub(crate) fn active() -> Option<&'static Self> {
        ACTIVE.get()
    }

    /// Starts to export where a collector is named.
    pub(super) fn start() -> Result<Option<&'static Self>, Failure> {
        if !is_wanted() {
            return Ok(None);
        }
        warn_of_other_protocols();
        // Installed once for the exporter's client; where one is installed already, that one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let exporter = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary).build();
        let exporter = exporter.map_err(|error| Failure::usage(format!("spans cannot be exported: {error}")))?;
        let provider = SdkTracerProvider::builder().with_resource(resource()).with_batch_exporter(exporter).build();
        Ok(Some(ACTIVE.get_or_init(|| Export(provider))))
    }

    pub(super) fn tracer(&self) -> SdkTracer {
        self.0.tracer("opentool")
    }

    /// Sends what has not been sent yet.
    pub(crate) fn finish() {
        if let Some(export) = ACTIVE.get()
            && let Err(error) = export.0.shutdown_with_timeout(FLUSH_TIMEOUT)
        {
            warn(&format_args!("the last spans were not exported: {error}"));
        }
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// What the variable of traces says, otherwise that of everything.
fn of_traces(name: &str) -> Option<String> {
    variable(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}")).or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{name}")))
}

fn warn_of_other_protocols() {
    if let Some(protocol) = of_traces("PROTOCOL").filter(|protocol| protocol != "http/protobuf") {
        let protocol = visible(&protocol);
        warn(&format_args!(
            "spans are exported as http/protobuf, not as {protocol}: collectors take that at port 4318"
        ));
    }
}

fn is_wanted() -> bool {
    let endpoint = of_traces("ENDPOINT").is_some();
    let disabled = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
        || variable("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
    endpoint && !disabled
}

/// Who the spans are of; the environment may say better.
fn resource() -> Resource {
    let named = env::var_os("OTEL_SERVICE_NAME").is_some()
        || env::var("OTEL_RESOURCE_ATTRIBUTES").is_ok_and(|attributes| attributes.contains("service.name="));
    let resource = Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    if named { resource.build() } else { resource.with_service_name("opentool").build() }
}
