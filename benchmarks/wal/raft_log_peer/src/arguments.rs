//! `key=value` arguments, and the turns they speak of.

use std::collections::HashMap;
use std::io::{stdin, stdout, Write};
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

pub struct Arguments {
    values: HashMap<String, String>,
}

impl Arguments {
    pub fn parse(given: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut values = HashMap::new();
        for argument in given {
            let (key, value) = argument.split_once('=').ok_or(format!("not key=value: {argument}"))?;
            values.insert(key.to_string(), value.to_string());
        }
        Ok(Self { values })
    }

    pub fn text(&self, key: &str) -> Result<&str, String> {
        self.values
            .get(key)
            .map(String::as_str)
            .ok_or(format!("missing: {key}"))
    }

    pub fn number<N: FromStr>(&self, key: &str) -> Result<N, String> {
        let text = self.text(key)?;
        text.parse().map_err(|_| format!("not a number: {key}={text}"))
    }

    /// Waits for each turn; yields the time it should last.
    pub fn slices(&self) -> Result<impl Iterator<Item = Duration>, String> {
        let turns: u32 = self.number("turns")?;
        let slice = Duration::from_secs_f64(self.number("seconds")?) / turns;
        Ok((0..turns).map(move |_| {
            wait_for_turn();
            slice
        }))
    }

    /// Waits for each turn; yields the indexes, from `start` on, of the batches it should write.
    pub fn batches(&self, start: u64) -> Result<impl Iterator<Item = Range<u64>>, String> {
        let entries: u64 = self.number("entries")?;
        let batch_count = entries.div_ceil(self.number("batch")?);
        let per_turn = batch_count.div_ceil(self.number("turns")?) as usize;
        let batches = self.plain_batches(start, entries)?.enumerate();
        Ok(batches.map(move |(number, indexes)| {
            if number % per_turn == 0 {
                wait_for_turn();
            }
            indexes
        }))
    }

    pub fn plain_batches(&self, start: u64, entries: u64) -> Result<impl Iterator<Item = Range<u64>>, String> {
        let batch: u64 = self.number("batch")?;
        let firsts = (start..start + entries).step_by(batch as usize);
        Ok(firsts.map(move |first| first..(first + batch).min(start + entries)))
    }
}

/// Says `ready`, and waits for a line on the standard input: workloads that are compared run in turns.
fn wait_for_turn() {
    println!("ready");
    stdout().flush().expect("the standard output is there");
    stdin()
        .read_line(&mut String::new())
        .expect("the standard input is there");
}
