//! What scripts find: k6's modules and globals, each in a file of its own.

pub(super) mod classes;
pub(super) mod console;
mod crypto;
mod data;
mod encoding;
mod execution;
mod fs;
pub(super) mod globals;
pub(super) mod grpc;
mod html;
pub(super) mod http;
mod k6;
mod markup;
pub(super) mod metadata;
mod metrics;
mod pairs;
pub(super) mod secrets;
mod selectors;
mod show;
pub(super) mod sockets;
mod subtle;
pub(super) mod tags;
mod text;
mod timers;

use super::modules;
use super::step::Level;
use super::value::{Context, ErrorKind, Outcome, Thrown, Value};

/// Makes a context ready for a script.
pub(super) fn set_up(context: Context<'_>) -> Result<(), Thrown> {
    classes::register(context)?;
    globals::define(context)?;
    console::define(context)?;
    crypto::define(context)?;
    timers::define(context)?;
    text::define(context)
}

/// The object that a module exports by default; its properties are the named exports.
pub(super) fn built_in<'js>(context: Context<'js>, name: &str) -> Outcome<'js> {
    let module = context.object()?;
    match name {
        "k6" => k6::fill(&module)?,
        "k6/crypto" => crypto::fill(&module)?,
        "k6/data" => data::fill(&module)?,
        "k6/encoding" => encoding::fill(&module)?,
        "k6/execution" => execution::fill(&module)?,
        "k6/experimental/csv" => return modules::library(context, "plimsoll:csv"),
        "k6/experimental/fs" => return modules::library(context, "plimsoll:fs"),
        "k6/experimental/streams" => return modules::library(context, "plimsoll:streams"),
        "k6/html" => return modules::library(context, "plimsoll:html"),
        "k6/http" => http::fill(&module)?,
        "k6/net/grpc" => return modules::library(context, "plimsoll:grpc"),
        "plimsoll:grpc/core" => grpc::fill(&module)?,
        "k6/metrics" => metrics::fill(&module)?,
        "k6/secrets" => secrets::fill(&module)?,
        "k6/websockets" => return modules::library(context, "plimsoll:websockets"),
        "k6/experimental/websockets" => {
            if context.inner().is_first() {
                let line = "'k6/experimental/websockets' is deprecated: import 'k6/websockets'";
                console::note(context, Level::Warn, line)?;
            }
            return modules::library(context, "plimsoll:websockets");
        }
        "k6/ws" => return modules::library(context, "plimsoll:ws"),
        "plimsoll:fs/core" => fs::fill(&module)?,
        "plimsoll:html/core" => html::fill(&module)?,
        "plimsoll:sockets/core" => sockets::fill(&module)?,
        "plimsoll:subtle/core" => subtle::fill(&module)?,
        "k6/timers" | "k6/experimental/timers" => timers::fill(&module)?,
        name => {
            let message = format!("'{name}' is not a module that is built in");
            return Err(context.throw(ErrorKind::Plain, message));
        }
    }
    Ok(module)
}

/// Raises an error unless the script is past its first evaluation.
fn need_running(context: Context<'_>, what: &str) -> Result<(), Thrown> {
    if context.inner().stage.get() == super::inner::Stage::Running {
        return Ok(());
    }
    let message = format!("{what} works within exported functions only, not while a script loads");
    Err(context.throw(ErrorKind::Plain, message))
}

/// Refuses a function that is `async`: what calls it does not wait for it.
fn need_sync(context: Context<'_>, function: &Value<'_>, what: &str) -> Result<(), Thrown> {
    if !function.is_async_function() {
        return Ok(());
    }
    let message = format!("{what} takes no async function, because it would not wait for it");
    Err(context.throw(ErrorKind::Type, message))
}
