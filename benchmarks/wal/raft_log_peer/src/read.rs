//! Read all entries: from the payload cache, and from the files.

use std::error::Error;
use std::time::Instant;

use raft_log::api::raft_log_writer::RaftLogWriter;

use crate::arguments::Arguments;
use crate::peer::{config, next_index, Log, Payloads, Writer};
use crate::report::Report;

pub fn from_cache(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let size: usize = arguments.number("size")?;
    let entries: u64 = arguments.number("entries")?;
    let mut writer = Writer::open(config(arguments)?)?;
    writer.log.append(Payloads::new(size).entries(0..entries))?;
    writer.flush()?;
    read_all(&writer.log, entries, size)
}

/// An entry in a full chunk is the only one the peer reads from its file: one more entry fills the last chunk.
pub fn from_disk(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let size: usize = arguments.number("size")?;
    let mut config = config(arguments)?;
    config.wal.chunk_max_records = Some(1);
    config.log_cache_capacity = Some(1);
    let mut writer = Writer::open(config)?;
    let entries = next_index(&writer.log);
    writer.log.append([Payloads::new(size).entry(entries)])?;
    writer.flush()?;
    writer.log.wait_worker_idle()?;
    writer.log.drain_cache_evictable();
    read_all(&writer.log, entries, size)
}

fn read_all(log: &Log, entries: u64, size: usize) -> Result<Report, Box<dyn Error>> {
    let start = Instant::now();
    let mut total = 0;
    for entry in log.read(0, entries) {
        total += entry?.1.len();
    }
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(total as u64, entries * size as u64);
    let stat = log.stat();
    let facts = vec![("hits", stat.payload_cache_hit), ("misses", stat.payload_cache_miss)];
    Ok(Report {
        entries,
        seconds,
        facts,
        ..Report::default()
    })
}
