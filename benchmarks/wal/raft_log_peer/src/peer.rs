//! The peer's types and settings, and the payloads both sides are given.

use std::error::Error;
use std::io;
use std::ops::Range;
use std::sync::mpsc::Sender;
use std::sync::Arc;
use std::time::Duration;

use raft_log::api::raft_log_writer::RaftLogWriter;
use raft_log::{Callback, Config, RaftLog, Types};

use crate::arguments::Arguments;

pub type Log = RaftLog<PeerTypes>;
pub type Entry = ((u64, u64), Vec<u8>);

#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub struct PeerTypes;

impl Types for PeerTypes {
    type LogId = (u64, u64);
    type LogPayload = Vec<u8>;
    type Vote = (u64, u64);
    type UserData = String;
    type Callback = Done;

    fn log_index(log_id: &Self::LogId) -> u64 {
        log_id.1
    }

    fn payload_size(payload: &Self::LogPayload) -> u64 {
        payload.len() as u64
    }
}

/// Tells one channel whose flush is done: one channel for all keeps the peer's callbacks as cheap as they can be.
pub struct Done {
    pub appender: usize,
    pub channel: Sender<(usize, io::Result<()>)>,
}

impl Callback for Done {
    fn send(self, result: io::Result<()>) {
        let _ = self.channel.send((self.appender, result));
    }
}

pub fn config(arguments: &Arguments) -> Result<Config, String> {
    let mut config = Config::new(arguments.text("dir")?);
    config.wal.chunk_max_size = Some(arguments.number("chunk_size")?);
    config.wal.chunk_max_records = Some(arguments.number("chunk_entries")?);
    config.wal.flush_batch_wait = Some(Duration::from_micros(arguments.number("wait_us")?));
    config.log_cache_capacity = Some(arguments.number("cache_size")?);
    config.log_cache_max_items = Some(arguments.number("cache_entries")?);
    Ok(config)
}

pub fn open(config: Config) -> Result<Log, Box<dyn Error>> {
    std::fs::create_dir_all(&config.wal.dir)?;
    Ok(Log::open(Arc::new(config))?)
}

pub fn next_index(log: &Log) -> u64 {
    PeerTypes::next_log_index(log.log_state().last())
}

/// A log, and the channel its flushes answer on.
pub struct Writer {
    pub log: Log,
    pub sender: Sender<(usize, io::Result<()>)>,
    pub receiver: std::sync::mpsc::Receiver<(usize, io::Result<()>)>,
}

impl Writer {
    pub fn open(config: Config) -> Result<Self, Box<dyn Error>> {
        let (sender, receiver) = std::sync::mpsc::channel();
        Ok(Self {
            log: open(config)?,
            sender,
            receiver,
        })
    }

    pub fn start_flush(&mut self, appender: usize) -> io::Result<()> {
        self.log.flush(
            true,
            Some(Done {
                appender,
                channel: self.sender.clone(),
            }),
        )
    }

    pub fn flush(&mut self) -> Result<(), Box<dyn Error>> {
        self.start_flush(0)?;
        self.receiver.recv()?.1?;
        Ok(())
    }
}

/// Payloads cut from one pool of noise, each a buffer of its own as a caller's would be.
pub struct Payloads {
    pool: Vec<u8>,
    size: usize,
}

impl Payloads {
    pub fn new(size: usize) -> Self {
        let mut state: u64 = 7;
        let noise = (0..65_536 + size).map(|_| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 56) as u8
        });
        Self {
            pool: noise.collect(),
            size,
        }
    }

    pub fn get(&self, index: u64) -> Vec<u8> {
        let start = (index as usize * 61) % 65_536;
        self.pool[start..start + self.size].to_vec()
    }

    pub fn entry(&self, index: u64) -> Entry {
        ((1, index), self.get(index))
    }

    pub fn entries(&self, indexes: Range<u64>) -> Vec<Entry> {
        indexes.map(|index| self.entry(index)).collect()
    }
}
