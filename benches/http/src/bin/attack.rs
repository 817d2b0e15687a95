//! `attack attackers PORT SECONDS [opentool|mcp]` attacks a server in every way; `attack client PORT SECONDS` calls it meanwhile,
//! checks every answer, and prints how long calls took.

#[path = "../attack.rs"]
mod attack;

use std::env;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let usage = "attackers|client PORT SECONDS [opentool|mcp]";
    let mut arguments = env::args().skip(1);
    let mut next = || arguments.next().ok_or(usage);
    let (role, port, seconds) = (next()?, next()?.parse::<u16>()?, next()?.parse()?);
    let server = SocketAddr::from(([127, 0, 0, 1], port));
    let until = Instant::now() + Duration::from_secs(seconds);
    match role.as_str() {
        "attackers" => {
            let route = attack::Route::named(&arguments.next().unwrap_or("opentool".to_owned())).ok_or(usage)?;
            for (name, times) in attack::attack(attack::Target { server, route }, until) {
                println!("{times:>6} {name}");
            }
        }
        "client" => {
            let mut times = attack::good_client(server, until)?;
            times.sort_unstable();
            let percentile = |percent: usize| {
                times
                    .get((times.len() * percent / 100).min(times.len().saturating_sub(1)))
                    .map_or(0.0, |time| time.as_secs_f64() * 1e3)
            };
            println!(
                "calls {} p50 {:.2} p99 {:.2} max {:.2}",
                times.len(),
                percentile(50),
                percentile(99),
                percentile(100)
            );
            println!("(milliseconds)");
        }
        _ => return Err(usage.into()),
    }
    Ok(())
}
