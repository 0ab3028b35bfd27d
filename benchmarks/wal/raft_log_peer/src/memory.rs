//! Peak memory of a long append with a small cache.

use std::error::Error;

use raft_log::api::raft_log_writer::RaftLogWriter;

use crate::arguments::Arguments;
use crate::peer::{config, Payloads, Writer};
use crate::report::{memory_size, Report};

pub fn peak(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let payloads = Payloads::new(arguments.number("size")?);
    let (entries, batch): (u64, u64) = (arguments.number("entries")?, arguments.number("batch")?);
    let mut writer = Writer::open(config(arguments)?)?;
    let idle = memory_size("VmRSS");
    let start = std::time::Instant::now();
    let mut half = 0;
    for first in (0..entries).step_by(batch as usize) {
        writer.log.append(payloads.entries(first..entries.min(first + batch)))?;
        writer.flush()?;
        if half == 0 && first + batch >= entries / 2 {
            half = memory_size("VmHWM");
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let facts = vec![("idle_size", idle), ("half_peak_size", half)];
    Ok(Report {
        entries,
        seconds,
        facts,
        ..Report::default()
    })
}
