//! Flags of `run` for the request.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plimsoll_core::plan::Order;
use plimsoll_core::secret::Secret;
use plimsoll_dialect::targets::Format;

use crate::value_args::secret;
use crate::websocket_args::WebSocketFlags;

/// What is sent.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestFlags {
    /// Method [default: GET, or POST with a body]
    #[arg(short = 'X', long, value_name = "M")]
    pub method: Option<String>,
    /// A header, 'Name: value'; with an empty value, takes a default header away
    #[arg(short = 'H', long = "header", value_name = "H", value_parser = secret)]
    pub headers: Vec<Secret>,
    /// The body, or @FILE to read it from
    #[arg(short, long, value_name = "STR|@FILE", conflicts_with_all = ["form", "form_urlencoded"])]
    #[arg(value_parser = secret)]
    pub body: Option<Secret>,
    /// A part of a multipart form: name=value, name=@FILE (also ;type=TYPE and ;filename=NAME)
    #[arg(short = 'F', long, value_name = "PART", conflicts_with = "form_urlencoded")]
    #[arg(value_parser = secret)]
    pub form: Vec<Secret>,
    /// A field of an urlencoded form: name=value or name=@FILE
    #[arg(long, value_name = "FIELD", value_parser = secret)]
    pub form_urlencoded: Vec<Secret>,
    /// Name and password for the server, as in http://USER:PASS@HOST/
    #[arg(long, value_name = "USER:PASS", value_parser = secret)]
    pub basic: Option<Secret>,
    /// Send bodies in chunks, without their length
    #[arg(long)]
    pub chunked: bool,
    /// Send bodies after the server's 100 Continue
    #[arg(long)]
    pub expect_continue: bool,
    /// Version of HTTP; auto: what the first connection agrees on in TLS [default: 1.1, or 2 with
    /// --grpc]
    #[arg(long, value_name = "V", value_parser = ["1.0", "1.1", "2", "auto"])]
    pub http: Option<String>,
    /// Several requests, from a file (- is stdin): vegeta's formats, or TOML
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["method", "body", "form", "form_urlencoded"])]
    pub targets: Option<PathBuf>,
    /// How that file is written [default: by its ending or content]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub targets_format: Option<TargetsFormat>,
    /// In which order the targets are taken [default: sequential; weighted where they have weights]
    #[arg(long, value_enum)]
    pub order: Option<OrderFlag>,
    /// Send {{…}} as it stands, instead of filling it anew for each request
    #[arg(long)]
    pub no_templates: bool,
    #[command(flatten)]
    pub websocket: WebSocketFlags,
}

/// How a target file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetsFormat {
    /// METHOD URL, headers, @FILE
    Http,
    /// One object a line
    Json,
    /// A table for each target
    Toml,
}

impl From<TargetsFormat> for Format {
    fn from(format: TargetsFormat) -> Self {
        match format {
            TargetsFormat::Http => Self::Http,
            TargetsFormat::Json => Self::Json,
            TargetsFormat::Toml => Self::Toml,
        }
    }
}

/// In which order targets are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderFlag {
    /// One after the other
    Sequential,
    /// Each with the same chance
    Random,
    /// Each with a chance by its weight
    Weighted,
}

impl From<OrderFlag> for Order {
    fn from(order: OrderFlag) -> Self {
        match order {
            OrderFlag::Sequential => Self::Sequential,
            OrderFlag::Random => Self::Random,
            OrderFlag::Weighted => Self::Weighted,
        }
    }
}
