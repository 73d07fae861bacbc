//! Addresses connected to, each kept where the kernel can read it until the driver is dropped.

use std::io;

use socket2::SockAddr;

use crate::route::Address;
use crate::socket::raw_address;

/// The addresses so far, in their own form and the kernel's. There are as many as a run has
/// targets.
#[derive(Default)]
pub(super) struct Addresses {
    known: Vec<(Address, Box<SockAddr>)>,
    last: usize,
}

impl Addresses {
    /// The address in the kernel's form.
    ///
    /// # Errors
    /// When it has none.
    pub(super) fn intern(&mut self, address: &Address) -> io::Result<&SockAddr> {
        let is_last = self.known.get(self.last).is_some_and(|(known, _)| known == address);
        if !is_last {
            self.last = match self.known.iter().position(|(known, _)| known == address) {
                Some(found) => found,
                None => {
                    self.known.push((address.clone(), Box::new(raw_address(address)?)));
                    self.known.len() - 1
                }
            };
        }
        Ok(&self.known[self.last].1)
    }
}
