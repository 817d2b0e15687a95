//! Two C libraries as tools, without a line of C: the mathematics of the system, and zlib. Both run in sandboxed worker processes.
//!
//! ```console
//! $ cargo run -p opentool --example c_library --all-features
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::path::Path;

use opentool::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    // First thing: returns at once, unless this process was started as a worker.
    opentool::opendyn::worker_main();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(call())
}

async fn call() -> Result<(), Box<dyn Error>> {
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let math = DynLibrary::open(documents.join("libm.opendyn.json"), "libm.so.6")?;
    let zlib = DynLibrary::open(documents.join("zlib.opendyn.json"), "libz.so.1")?;
    let host = Executor::new().host((math, zlib));

    println!("pow: {}", host.call("pow", r#"{"base": 2, "exponent": 10}"#).await?.to_text());
    println!("crc32: {}", host.call("crc32", r#"{"before": 0, "text": "123456789"}"#).await?.to_text());
    // Arguments are checked before anything reaches C.
    if let Err(error) = host.call("pow", r#"{"base": "two", "exponent": 10}"#).await {
        println!("{}", error.message());
    }
    Ok(())
}
