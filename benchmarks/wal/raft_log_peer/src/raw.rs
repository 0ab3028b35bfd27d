//! The limit of the disk: positioned write and fdatasync in a loop, with no log around it.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::time::Instant;

use crate::arguments::Arguments;
use crate::peer::Payloads;
use crate::report::Report;

const WARM_UP_WRITES: u64 = 50;
const PIECE_SIZE: usize = 1 << 20;

/// `file=growing` extends the file with every write; `file=written` starts over in a file that was written before.
pub fn write_and_sync(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let frames: u64 = arguments.number("batch")?;
    let payloads = Payloads::new(arguments.number("frame_size")?);
    let round: Vec<u8> = (0..frames).flat_map(|index| payloads.get(index)).collect();
    let limit = arguments.duration("seconds")?.as_secs_f64();
    let file_size: u64 = arguments.number("chunk_size")?;
    let growing = arguments.text("file")? == "growing";
    let file = create(arguments.text("dir")?)?;
    if !growing {
        write_once(&file, file_size)?;
    }
    let mut report = Report::default();
    let mut position = 0;
    for count in 0u64.. {
        if !growing && position + round.len() as u64 > file_size {
            position = 0;
        }
        let start = Instant::now();
        file.write_all_at(&round, position)?;
        file.sync_data()?;
        if count >= WARM_UP_WRITES {
            report.add(frames, start);
        }
        position += round.len() as u64;
        if report.seconds >= limit {
            break;
        }
    }
    Ok(report)
}

fn create(directory: &str) -> std::io::Result<File> {
    std::fs::create_dir_all(directory)?;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(format!("{directory}/raw"))
}

/// Reserved blocks are not enough: only blocks that have been written cost no metadata when written again.
fn write_once(file: &File, size: u64) -> std::io::Result<()> {
    let piece = vec![0u8; PIECE_SIZE];
    for position in (0..size).step_by(PIECE_SIZE) {
        file.write_all_at(&piece[..PIECE_SIZE.min((size - position) as usize)], position)?;
    }
    file.sync_all()
}
