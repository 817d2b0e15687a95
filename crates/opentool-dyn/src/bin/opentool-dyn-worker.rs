//! The worker process by itself, for programs that cannot be their own: `DynLibrary::builder().worker(path)`.

fn main() {
    opentool_dyn::worker_main();
    eprintln!("error: this program is started by opentool and does nothing by itself");
    std::process::exit(2);
}
