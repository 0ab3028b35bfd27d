//! The limit of the disk: positioned write and fdatasync in a loop, with no log around it.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::time::Instant;

use crate::arguments::Arguments;
use crate::peer::Payloads;
use crate::report::Report;

const WARM_UP_WRITES: u64 = 50;
const PIECE_SIZE: usize = 1 << 14; // Large pieces become large folios in the page cache; small writes into those are slower.

/// `file=growing` extends the file with every write; `file=written` starts over in a file that was written before.
pub fn write_and_sync(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let frames: u64 = arguments.number("batch")?;
    let payloads = Payloads::new(arguments.number("frame_size")?);
    let growing = arguments.text("file")? == "growing";
    let mut target = Target {
        file: create(arguments.text("dir")?)?,
        round: (0..frames).flat_map(|index| payloads.get(index)).collect(),
        position: 0,
        size_max: if growing {
            u64::MAX
        } else {
            arguments.number("chunk_size")?
        },
    };
    if !growing {
        write_once(&target.file, target.size_max)?;
    }
    for _ in 0..WARM_UP_WRITES {
        target.write_round()?;
    }
    let mut report = Report::default();
    for slice in arguments.slices()? {
        let end = report.seconds + slice.as_secs_f64();
        while report.seconds < end {
            let start = Instant::now();
            target.write_round()?;
            report.add(frames, start);
        }
    }
    Ok(report)
}

struct Target {
    file: File,
    round: Vec<u8>,
    position: u64,
    size_max: u64,
}

impl Target {
    fn write_round(&mut self) -> std::io::Result<()> {
        let size = self.round.len() as u64;
        if self.position + size > self.size_max {
            self.position = 0;
        }
        self.file.write_all_at(&self.round, self.position)?;
        self.file.sync_data()?;
        self.position += size;
        Ok(())
    }
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
