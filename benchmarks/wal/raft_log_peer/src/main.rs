//! One workload of the raft-log crate, or of the bare disk, in a process of its own.
//!
//! `raft_log_peer WORKLOAD key=value …` prints one line of JSON. The keys are those of `benchmarks/wal/child.py`,
//! so that both sides of the comparison are started in the same way.

mod arguments;
mod flush;
mod memory;
mod open;
mod peer;
mod raw;
mod read;
mod report;

use std::error::Error;

use arguments::Arguments;
use report::Report;

fn main() -> Result<(), Box<dyn Error>> {
    let mut given = std::env::args().skip(1);
    let workload = given.next().ok_or("name a workload")?;
    let arguments = Arguments::parse(given)?;
    println!("{}", run(&workload, &arguments)?.to_json());
    Ok(())
}

fn run(workload: &str, arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    match workload {
        "each" => flush::each(arguments),
        "batch" => flush::batch(arguments),
        "single" => flush::single(arguments),
        "steady" => flush::steady(arguments),
        "appenders" => flush::appenders(arguments),
        "replay" => open::replay(arguments),
        "read_cache" => read::from_cache(arguments),
        "read_disk" => read::from_disk(arguments),
        "memory" => memory::peak(arguments),
        "raw" => raw::write_and_sync(arguments),
        other => Err(format!("unknown workload: {other}").into()),
    }
}
