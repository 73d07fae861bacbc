//! Other testers' command lines, with the real one and with us, against one server: the same
//! labels in the same order at the same columns, and the same requests on the wire.

mod arrivals;
mod fortio;
mod fortio_echo;
mod fortio_grpc;
mod fortio_readers;
mod fortio_server;
mod k6;
mod k6_grpc;
mod k6_sockets;
mod outputs;
mod recorder;
mod scripts;
