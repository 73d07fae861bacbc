//! Everything that touches the operating system: sockets, timers, clocks, CPUs and what the host
//! says of itself. The rest of the program sees [`Driver`] and plain data.
//!
//! `unsafe` is allowed here and nowhere else below the script engines; each block says why it
//! holds.

mod caught_up;
pub mod clock;
pub mod driver;
pub mod epoll;
pub mod host;
pub mod route;
pub mod select;
pub mod sim;
mod socket;
mod spin;
mod stamps;
mod standstill;
mod taken;
pub mod tcp_info;
#[cfg(target_os = "linux")]
mod tun;
#[cfg(target_os = "linux")]
pub mod uring;

pub use driver::{
    Close, Driver, DriverKind, DriverOptions, Event, Operation, OsError, Payload, PayloadId,
    Received, SocketId, SocketOptions, Spin, Standstill, Wake, Waker,
};
pub use epoll::EpollDriver;
pub use route::{Address, Route};
pub use select::{DriverChoice, Opened, Selection};
pub use sim::SimDriver;
pub use tcp_info::TcpInfo;
#[cfg(target_os = "linux")]
pub use tun::open_tun;
#[cfg(target_os = "linux")]
pub use uring::UringDriver;
