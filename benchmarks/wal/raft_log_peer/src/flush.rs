//! Workloads that append and flush.

use std::error::Error;
use std::time::Instant;

use raft_log::api::raft_log_writer::RaftLogWriter;

use crate::arguments::Arguments;
use crate::peer::{config, Payloads, Writer};
use crate::report::Report;

const WARM_UP_FLUSHES: u64 = 50;

/// One entry, one flush, wait for it, and again.
pub fn each(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let payloads = Payloads::new(arguments.number("size")?);
    let mut writer = Writer::open(config(arguments)?)?;
    for index in 0..WARM_UP_FLUSHES {
        writer.log.append([payloads.entry(index)])?;
        writer.flush()?;
    }
    let mut report = Report::default();
    let limit = arguments.duration("seconds")?.as_secs_f64();
    for index in WARM_UP_FLUSHES.. {
        let entry = payloads.entry(index);
        let start = Instant::now();
        writer.log.append([entry])?;
        writer.flush()?;
        report.add(1, start);
        if report.seconds >= limit {
            break;
        }
    }
    Ok(report)
}

/// Many entries in one `append`, one flush, wait for it, and again.
pub fn batch(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let payloads = Payloads::new(arguments.number("size")?);
    let (entries, batch): (u64, u64) = (arguments.number("entries")?, arguments.number("batch")?);
    let mut writer = Writer::open(config(arguments)?)?;
    let mut report = Report::default();
    for first in (0..entries).step_by(batch as usize) {
        let round = payloads.entries(first, batch.min(entries - first));
        let start = Instant::now();
        let count = round.len() as u64;
        writer.log.append(round)?;
        writer.flush()?;
        report.add(count, start);
    }
    Ok(report)
}

/// As `batch`, with one `append` for each entry.
pub fn single(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let payloads = Payloads::new(arguments.number("size")?);
    let (entries, batch): (u64, u64) = (arguments.number("entries")?, arguments.number("batch")?);
    let mut writer = Writer::open(config(arguments)?)?;
    let mut report = Report::default();
    for first in (0..entries).step_by(batch as usize) {
        let round = payloads.entries(first, batch.min(entries - first));
        let start = Instant::now();
        let count = round.len() as u64;
        for entry in round {
            writer.log.append([entry])?;
        }
        writer.flush()?;
        report.add(count, start);
    }
    Ok(report)
}

/// Many appenders, each with one entry in flight; a callback starts the appender's next one.
pub fn appenders(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let payloads = Payloads::new(arguments.number("size")?);
    let count: usize = arguments.number("appenders")?;
    let limit = arguments.duration("seconds")?;
    let mut writer = Writer::open(config(arguments)?)?;
    let mut report = Report::default();
    let start = Instant::now();
    let mut started = vec![start; count];
    let mut index = 0;
    for appender in 0..count {
        writer.log.append([payloads.entry(index)])?;
        writer.start_flush(appender)?;
        index += 1;
    }
    while report.entries < index {
        let (appender, result) = writer.receiver.recv()?;
        result?;
        report.entries += 1;
        report.waits.push(started[appender].elapsed());
        if start.elapsed() < limit {
            let entry = payloads.entry(index);
            started[appender] = Instant::now();
            writer.log.append([entry])?;
            writer.start_flush(appender)?;
            index += 1;
        }
    }
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}
