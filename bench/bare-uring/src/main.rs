//! The least a client and a server can do with io_uring: one thread, a single issuer with deferred
//! task work, registered files, multishot accept and receive into a ring of provided buffers, and
//! one `send` per request that reports only failure. One system call hands in what is queued and
//! waits.
//!
//! The client counts bytes: a response is over when as many have come as the first one had. The
//! server answers whenever what it received ends in an empty line; it reads no heads and no bodies.
//! Nothing is recorded but the count (see the crate `bare` for what else is left out).

use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd as _, RawFd};
use std::process::ExitCode;

use bare::{Measured, Meter, Options};
use io_uring::squeue::{Entry, Flags};
use io_uring::types::{DestinationSlot, Fd, Fixed};
use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter, cqueue, opcode};

mod buffers;

use buffers::{Buffers, GROUP};

/// Operations that can be queued between two system calls.
const QUEUE: u32 = 4096;
/// The most connections a server holds.
const SLOTS: u32 = 16_384;

/// What a completion is about: the upper half of its key; the lower half is the file's slot.
const STOP: u64 = 0;
const ACCEPT: u64 = 1 << 32;
const RECEIVE: u64 = 2 << 32;
const OTHER: u64 = 3 << 32;

fn main() -> ExitCode {
    bare::main(client, server)
}

fn client(options: &Options) -> io::Result<Measured> {
    let response_bytes = options.learn_response_bytes()?;
    let request = options.request();
    if options.close {
        return client_closing(options, &request, response_bytes);
    }
    let mut ring = new_ring()?;
    let (submitter, queue, mut completions) = ring.split();
    let mut queue = Queue { submitter, queue };
    let mut buffers = Buffers::register(&queue.submitter)?;
    let sockets = options.connect()?;
    let fds: Vec<RawFd> = sockets.iter().map(|socket| socket.as_raw_fd()).collect();
    queue.submitter.register_files(&fds)?;
    let stop = bare::stop_after(options.seconds)?;
    queue.push(&[readable(stop.as_raw_fd())])?;
    let mut missing = vec![response_bytes; fds.len()];
    let mut requests = 0;
    let meter = Meter::start();
    for slot in 0..fds.len() as u32 {
        queue.push(&[receive_many(slot)])?;
        queue.push(&[send(slot, &request)])?;
    }
    loop {
        queue.submit_and_wait(&mut completions)?;
        for completion in &mut completions {
            if completion.user_data() == STOP {
                return Ok(meter.finish(requests));
            }
            let slot = completion.user_data() as u32;
            if !cqueue::more(completion.flags()) {
                queue.push(&[receive_many(slot)])?;
            }
            let got = match completion.result() {
                0 => return Err(io::Error::other("the server closed a connection")),
                // All buffers were in use; the receive was started again above.
                result if result == -libc::ENOBUFS => continue,
                result => done(result)?,
            };
            if let Some(id) = cqueue::buffer_select(completion.flags()) {
                buffers.give_back(id);
            }
            let missing = &mut missing[slot as usize];
            *missing = missing.checked_sub(got).ok_or_else(not_the_same_size)?;
            if *missing == 0 {
                requests += 1;
                *missing = response_bytes;
                queue.push(&[send(slot, &request)])?;
            }
        }
        buffers.publish();
    }
}

/// One request per connection: a chain of socket, connect, send and receive, in which only the
/// receive reports success, once the server has closed. A chain's new socket takes the slot of the
/// one before, which closes that one.
fn client_closing(
    options: &Options,
    request: &[u8],
    response_bytes: usize,
) -> io::Result<Measured> {
    let address = socket_address(options.address);
    // One byte more than a response, so that only the end of the stream completes a receive. All
    // connections share it: nobody looks at what it holds.
    let mut response = vec![0; response_bytes + 1];
    let mut ring = new_ring()?;
    let (submitter, queue, mut completions) = ring.split();
    let mut queue = Queue { submitter, queue };
    queue.submitter.register_files_sparse(options.connections as u32)?;
    let stop = bare::stop_after(options.seconds)?;
    queue.push(&[readable(stop.as_raw_fd())])?;
    let mut requests = 0;
    let meter = Meter::start();
    for slot in 0..options.connections as u32 {
        queue.push(&connection(slot, &address, request, &mut response)?)?;
    }
    loop {
        queue.submit_and_wait(&mut completions)?;
        for completion in &mut completions {
            if completion.user_data() == STOP {
                return Ok(meter.finish(requests));
            }
            if done(completion.result())? != response_bytes {
                return Err(not_the_same_size());
            }
            requests += 1;
            let slot = completion.user_data() as u32;
            queue.push(&connection(slot, &address, request, &mut response)?)?;
        }
    }
}

fn server(options: &Options) -> io::Result<Measured> {
    if options.log_arrivals {
        return Err(io::Error::other("only bare-epoll logs arrivals"));
    }
    let response = options.response();
    let mut ring = new_ring()?;
    let (submitter, queue, mut completions) = ring.split();
    let mut queue = Queue { submitter, queue };
    let mut buffers = Buffers::register(&queue.submitter)?;
    queue.submitter.register_files_sparse(SLOTS)?;
    let stop = bare::stop_on_signal()?;
    let listener = options.listen()?;
    queue.push(&[readable(stop.as_raw_fd()), accept_many(listener.as_raw_fd())])?;
    let receive = if options.close { receive_once } else { receive_many };
    let mut requests = 0;
    let meter = Meter::start();
    loop {
        queue.submit_and_wait(&mut completions)?;
        for completion in &mut completions {
            let slot = completion.user_data() as u32;
            let more = cqueue::more(completion.flags());
            let result = completion.result();
            match completion.user_data() & !u64::from(u32::MAX) {
                STOP => return Ok(meter.finish(requests)),
                ACCEPT => {
                    queue.push(&[receive(done(result)? as u32)])?;
                    if !more {
                        queue.push(&[accept_many(listener.as_raw_fd())])?;
                    }
                }
                RECEIVE if result == -libc::ENOBUFS => queue.push(&[receive(slot)])?,
                // The peer closed or reset the connection, and the receive is over.
                RECEIVE if result <= 0 => queue.push(&[close(slot)])?,
                RECEIVE => {
                    let id = cqueue::buffer_select(completion.flags())
                        .ok_or_else(|| io::Error::other("bytes received into no buffer"))?;
                    let asked = buffers.bytes(id, result as usize).ends_with(b"\r\n\r\n");
                    buffers.give_back(id);
                    requests += u64::from(asked);
                    match (asked, options.close) {
                        (true, true) => queue.push(&[
                            send(slot, &response).flags(Flags::IO_HARDLINK | Flags::SKIP_SUCCESS),
                            close(slot),
                        ])?,
                        (true, false) => queue.push(&[send(slot, &response)])?,
                        (false, _) => {}
                    }
                    let closing = asked && options.close;
                    if !more && !closing {
                        queue.push(&[receive(slot)])?;
                    }
                }
                // A send or close that failed: the connection is gone, as its receive tells.
                _ => {}
            }
        }
        buffers.publish();
    }
}

fn new_ring() -> io::Result<IoUring> {
    IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(QUEUE)
}

/// Operations on their way to the kernel.
struct Queue<'a> {
    submitter: Submitter<'a>,
    queue: SubmissionQueue<'a>,
}

impl Queue<'_> {
    /// Queues operations, in one submission if they are linked.
    fn push(&mut self, operations: &[Entry]) -> io::Result<()> {
        // SAFETY: everything the operations point to lives until the program returns from the
        // function that owns the ring, and the ring is dropped last.
        while unsafe { self.queue.push_multiple(operations) }.is_err() {
            self.queue.sync();
            self.submitter.submit()?;
            self.queue.sync();
        }
        Ok(())
    }

    /// Hands in what is queued and waits for at least one completion.
    fn submit_and_wait(&mut self, completions: &mut CompletionQueue<'_>) -> io::Result<()> {
        self.queue.sync();
        self.submitter.submit_and_wait(1)?;
        self.queue.sync();
        completions.sync();
        Ok(())
    }
}

fn readable(fd: RawFd) -> Entry {
    opcode::PollAdd::new(Fd(fd), libc::POLLIN as u32).build().user_data(STOP)
}

fn accept_many(listener: RawFd) -> Entry {
    opcode::AcceptMulti::new(Fd(listener)).allocate_file_index(true).build().user_data(ACCEPT)
}

fn receive_many(slot: u32) -> Entry {
    opcode::RecvMulti::new(Fixed(slot), GROUP).build().user_data(RECEIVE | u64::from(slot))
}

fn receive_once(slot: u32) -> Entry {
    opcode::Recv::new(Fixed(slot), std::ptr::null_mut(), 0)
        .buf_group(GROUP)
        .build()
        .flags(Flags::BUFFER_SELECT)
        .user_data(RECEIVE | u64::from(slot))
}

fn send(slot: u32, bytes: &[u8]) -> Entry {
    opcode::Send::new(Fixed(slot), bytes.as_ptr(), bytes.len() as u32)
        .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
        .build()
        .flags(Flags::SKIP_SUCCESS)
        .user_data(OTHER | u64::from(slot))
}

fn close(slot: u32) -> Entry {
    opcode::Close::new(Fixed(slot))
        .build()
        .flags(Flags::SKIP_SUCCESS)
        .user_data(OTHER | u64::from(slot))
}

/// A whole connection as one chain.
fn connection(
    slot: u32,
    address: &libc::sockaddr_in,
    request: &[u8],
    response: &mut [u8],
) -> io::Result<[Entry; 4]> {
    let key = RECEIVE | u64::from(slot);
    let silent = Flags::IO_LINK | Flags::SKIP_SUCCESS;
    let place = DestinationSlot::try_from_slot_target(slot)
        .map_err(|slot| io::Error::other(format!("there is no slot {slot}")))?;
    let socket = opcode::Socket::new(libc::AF_INET, libc::SOCK_STREAM, 0).file_index(Some(place));
    let size = size_of_val(address) as libc::socklen_t;
    let connect = opcode::Connect::new(Fixed(slot), std::ptr::from_ref(address).cast(), size);
    let receive = opcode::Recv::new(Fixed(slot), response.as_mut_ptr(), response.len() as u32)
        .flags(libc::MSG_WAITALL);
    Ok([
        socket.build().flags(silent).user_data(key),
        connect.build().flags(silent).user_data(key),
        send(slot, request).flags(silent).user_data(key),
        receive.build().user_data(key),
    ])
}

fn socket_address(of: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: of.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(of.ip().octets()) },
        sin_zero: [0; 8],
    }
}

/// A completion's count, or its error.
fn done(result: i32) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result))
}

fn not_the_same_size() -> io::Error {
    io::Error::other("a response is not the size of the first one")
}
