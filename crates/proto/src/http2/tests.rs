//! Tests of both roles: the RFC's examples, tables of what peers do, and properties of a client
//! and a server that talk to each other.

mod appendix_c;
mod blocks;
mod client;
mod corpus;
mod frames;
mod hostile_clients;
mod hostile_servers;
mod pairs;
mod server;
mod splinters;
mod windows;

use frames::Bytes;

/// The text of fields as a table, for comparing.
fn fields_of(decoder: &mut super::hpack::Decoder, block: &[u8]) -> Result<Vec<String>, String> {
    let mut fields = Vec::new();
    let result = decoder.decode(block, |name, value| {
        fields.push(format!("{}: {}", name.escape_ascii(), value.escape_ascii()));
    });
    result.map(|()| fields).map_err(|error| error.to_string())
}
