//! Workloads that append and flush.

use std::error::Error;
use std::time::Instant;

use raft_log::api::raft_log_writer::RaftLogWriter;

use crate::arguments::Arguments;
use crate::peer::{config, Payloads, Writer};
use crate::report::Report;

const WARM_UP_FLUSHES: u64 = 50;
const PURGE_EVERY: u64 = 4; // Batches, in a log that is purged behind.
const STEADY_WARM_UP_BATCHES: u64 = 40; // Until the purge has come to chunks.

/// One entry, one flush, wait for it, and again.
pub fn each(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let payloads = Payloads::new(arguments.number("size")?);
    let mut writer = Writer::open(config(arguments)?)?;
    for index in 0..WARM_UP_FLUSHES {
        writer.log.append([payloads.entry(index)])?;
        writer.flush()?;
    }
    let mut report = Report::default();
    for slice in arguments.slices()? {
        let end = report.seconds + slice.as_secs_f64();
        while report.seconds < end {
            let entry = payloads.entry(WARM_UP_FLUSHES + report.entries);
            let start = Instant::now();
            writer.log.append([entry])?;
            writer.flush()?;
            report.add(1, start);
        }
    }
    Ok(report)
}

/// Many entries in one `append`, one flush, wait for it, and again.
pub fn batch(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let payloads = Payloads::new(arguments.number("size")?);
    let mut writer = Writer::open(config(arguments)?)?;
    let mut report = Report::default();
    for indexes in arguments.batches(0)? {
        let round = payloads.entries(indexes);
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
    let mut writer = Writer::open(config(arguments)?)?;
    let mut report = Report::default();
    for indexes in arguments.batches(0)? {
        let round = payloads.entries(indexes);
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

/// As `batch`, in a log that has run for a while and is purged behind every few flushes.
pub fn steady(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let payloads = Payloads::new(arguments.number("size")?);
    let batch: u64 = arguments.number("batch")?;
    let warm_up = STEADY_WARM_UP_BATCHES * batch;
    let mut writer = Writer::open(config(arguments)?)?;
    let mut report = Report::default();
    for indexes in arguments.plain_batches(0, warm_up)?.chain(arguments.batches(warm_up)?) {
        let first = indexes.start;
        let round = payloads.entries(indexes);
        let start = Instant::now();
        let count = round.len() as u64;
        writer.log.append(round)?;
        if first > 0 && first / batch % PURGE_EVERY == 0 {
            writer.log.purge((1, first - 1))?;
        }
        writer.flush()?;
        if first >= warm_up {
            report.add(count, start);
        }
    }
    Ok(report)
}

/// Many appenders, each with one entry in flight; a callback starts the appender's next one.
pub fn appenders(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let payloads = Payloads::new(arguments.number("size")?);
    let count: usize = arguments.number("appenders")?;
    let mut writer = Writer::open(config(arguments)?)?;
    let mut report = Report::default();
    let mut started = vec![Instant::now(); count];
    for slice in arguments.slices()? {
        let start = Instant::now();
        let mut index = report.entries;
        for appender in 0..count {
            started[appender] = Instant::now();
            start_next(&mut writer, &payloads, appender, &mut index)?;
        }
        while report.entries < index {
            let (appender, result) = writer.receiver.recv()?;
            result?;
            report.entries += 1;
            report.waits.push(started[appender].elapsed());
            if start.elapsed() < slice {
                started[appender] = Instant::now();
                start_next(&mut writer, &payloads, appender, &mut index)?;
            }
        }
        report.seconds += start.elapsed().as_secs_f64();
    }
    Ok(report)
}

fn start_next(
    writer: &mut Writer,
    payloads: &Payloads,
    appender: usize,
    index: &mut u64,
) -> Result<(), Box<dyn Error>> {
    writer.log.append([payloads.entry(*index)])?;
    writer.start_flush(appender)?;
    *index += 1;
    Ok(())
}
