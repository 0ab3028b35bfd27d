//! `key=value` arguments.

use std::collections::HashMap;
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

    pub fn duration(&self, key: &str) -> Result<Duration, String> {
        Ok(Duration::from_secs_f64(self.number(key)?))
    }
}
