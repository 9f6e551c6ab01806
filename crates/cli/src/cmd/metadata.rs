//! `--metadata KEY=VALUE`, which teams, members and messages have in common.

use atm_wire::metadata::Metadata;
use clap::Args;

#[derive(Debug, Default, Args)]
pub(super) struct MetadataArg {
    /// Put this into its `metadata`, beside what is ours; can be repeated
    #[arg(long = "metadata", value_name = "KEY=VALUE", value_parser = pair)]
    pairs: Vec<(String, String)>,
}

impl MetadataArg {
    /// What is to be written; of a key that is named twice, the last.
    pub(super) fn to_map(&self) -> Metadata {
        self.pairs.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect()
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".to_owned()),
    }
}
