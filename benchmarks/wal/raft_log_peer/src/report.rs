//! What a workload reports: entries, the seconds they took, latencies, memory.

use std::time::{Duration, Instant};

#[derive(Default)]
pub struct Report {
    pub entries: u64,
    pub seconds: f64,
    pub waits: Vec<Duration>,
    pub facts: Vec<(&'static str, u64)>,
}

impl Report {
    /// Counts `entries` as done in the time since `start`.
    pub fn add(&mut self, entries: u64, start: Instant) {
        let wait = start.elapsed();
        self.entries += entries;
        self.seconds += wait.as_secs_f64();
        self.waits.push(wait);
    }

    pub fn to_json(mut self) -> String {
        self.waits.sort();
        let mut fields = vec![
            format!("\"entries\": {}", self.entries),
            format!("\"seconds\": {:.6}", self.seconds),
            format!("\"peak_size\": {}", memory_size("VmHWM")),
        ];
        if !self.waits.is_empty() {
            fields.push(format!("\"p50_us\": {:.1}", self.percentile(50)));
            fields.push(format!("\"p99_us\": {:.1}", self.percentile(99)));
        }
        fields.extend(self.facts.iter().map(|(key, value)| format!("\"{key}\": {value}")));
        format!("{{{}}}", fields.join(", "))
    }

    fn percentile(&self, percent: usize) -> f64 {
        let place = (self.waits.len() * percent / 100).min(self.waits.len() - 1);
        self.waits[place].as_secs_f64() * 1e6
    }
}

/// This process's memory in bytes: VmRSS now, VmHWM at its peak. (The peak in rusage would include the parent's.)
pub fn memory_size(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    let kibibytes = line
        .and_then(|line| line.split_whitespace().nth(1))
        .and_then(|text| text.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}
