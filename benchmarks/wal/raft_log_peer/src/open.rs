//! Open a directory that an earlier process wrote.

use std::error::Error;
use std::time::Instant;

use crate::arguments::Arguments;
use crate::peer::{config, next_index, open};
use crate::report::Report;

pub fn replay(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let config = config(arguments)?;
    let start = Instant::now();
    let log = open(config)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Report {
        entries: next_index(&log),
        seconds,
        ..Report::default()
    })
}
