//! A client of WebSockets as one writes it with tokio-tungstenite: on one thread, each connection
//! sends 5 bytes and waits for them to come back.
//!
//! Nothing is recorded but the count. There is no server.

use std::cell::Cell;
use std::error::Error;
use std::io;
use std::net::TcpStream;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bare::{Measured, Meter, Options};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::task::LocalSet;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

fn main() -> ExitCode {
    bare::main(client, |_| Err(io::Error::other("there is no server of WebSockets here")))
}

fn client(options: &Options) -> io::Result<Measured> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(LocalSet::new().run_until(load(options)))
}

async fn load(options: &Options) -> io::Result<Measured> {
    let answered = Rc::new(Cell::new(0));
    let url = format!("ws://{}/ws", options.address);
    let meter = Meter::start();
    let end = Instant::now() + Duration::from_secs_f64(options.seconds);
    let mut tasks = Vec::new();
    for stream in options.connect()? {
        let (url, answered) = (url.clone(), Rc::clone(&answered));
        tasks.push(tokio::task::spawn_local(async move {
            let ended = echo(stream, &url, end, &answered).await;
            ended.map_err(|error| io::Error::other(error.to_string()))
        }));
    }
    for task in tasks {
        task.await.map_err(io::Error::other)??;
    }
    Ok(meter.finish(answered.get()))
}

async fn echo(
    stream: TcpStream,
    url: &str,
    end: Instant,
    answered: &Cell<u64>,
) -> Result<(), Box<dyn Error>> {
    stream.set_nonblocking(true)?;
    let stream = tokio::net::TcpStream::from_std(stream)?;
    let (mut socket, _) = client_async(url, stream).await?;
    while Instant::now() < end {
        socket.send(Message::text("hello")).await?;
        let reply = socket.next().await.ok_or("the server closed")??;
        if !reply.is_text() {
            return Err("the reply is no text".into());
        }
        answered.set(answered.get() + 1);
    }
    Ok(())
}
