//! Hello on axum: `axum-hello ADDRESS`. As its documentation starts, without layers or logs.

use std::error::Error;

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("where to listen? HOST:PORT")?;
    let listener = TcpListener::bind(address).await?;
    let app = Router::new().route("/", get(|| async { "hello world" }));
    axum::serve(listener, app).await?;
    Ok(())
}
