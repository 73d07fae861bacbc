//! The routes to the server, and which connection takes which.
//!
//! Connections are dealt to the addresses in turn, by their number in the whole run, so each
//! address gets its share whatever the number of workers. Then they are dealt to the source
//! addresses.

use plimsoll_io::Route;

/// A worker's ways to the server.
#[derive(Debug)]
pub(crate) struct Routes {
    /// All that ever were; a connection may still be on one that is no longer used.
    known: Vec<Route>,
    /// Which of them are used now.
    used: Vec<u16>,
    /// For each known route, the number of its address.
    addresses: Vec<u16>,
    names: Vec<String>,
}

/// More than this many routes are not kept apart.
const ROUTES_MAX: usize = 10_000;

impl Routes {
    pub(crate) fn new(routes: &[Route]) -> Self {
        let mut all =
            Self { known: Vec::new(), used: Vec::new(), addresses: Vec::new(), names: Vec::new() };
        all.replace(routes);
        all
    }

    /// From now on these are the ways. Gives the names of all addresses that ever were.
    pub(crate) fn replace(&mut self, routes: &[Route]) {
        let mut used = Vec::with_capacity(routes.len());
        for route in routes {
            let number = match self.known.iter().position(|known| known == route) {
                Some(number) => number,
                None if self.known.len() < ROUTES_MAX => self.add(route),
                None => continue,
            };
            used.push(number as u16);
        }
        if !used.is_empty() {
            self.used = used;
        }
    }

    fn add(&mut self, route: &Route) -> usize {
        let name = route.to.to_string();
        let address = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        self.known.push(route.clone());
        self.addresses.push(address as u16);
        self.known.len() - 1
    }

    /// The route of the run's connection `number`.
    pub(crate) fn of_connection(&self, number: u64) -> u16 {
        self.used[(number % self.used.len() as u64) as usize]
    }

    /// The route of this number.
    pub(crate) fn get(&self, route: u16) -> &Route {
        &self.known[usize::from(route)]
    }

    /// The number of a route's address.
    pub(crate) fn address(&self, route: u16) -> u16 {
        self.addresses[usize::from(route)]
    }

    /// Whether requests can be told apart by address.
    pub(crate) fn has_several_addresses(&self) -> bool {
        self.names.len() > 1
    }

    /// The addresses, in the order of their numbers.
    pub(crate) fn address_names(&self) -> &[String] {
        &self.names
    }
}

/// Every address from every source of its family, address after address so that neighbours differ
/// in it; from anywhere without sources.
pub(crate) fn cross(
    addresses: &[plimsoll_io::Address],
    sources: &[std::net::IpAddr],
) -> Vec<Route> {
    use plimsoll_io::Address;
    let fits = |to: &Address, from: &std::net::IpAddr| match to {
        Address::Tcp(address) | Address::Udp(address) => address.is_ipv4() == from.is_ipv4(),
        Address::Unix(_) => false,
    };
    if sources.is_empty() {
        return addresses.iter().cloned().map(Route::from).collect();
    }
    let from = |source: std::net::IpAddr| {
        let fitting = addresses.iter().filter(move |to| fits(to, &source));
        fitting.map(move |to| Route { to: to.clone(), from: Some(source) })
    };
    sources.iter().flat_map(|source| from(*source)).collect()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use plimsoll_io::Address;

    use super::*;

    fn address(text: &str) -> Address {
        Address::Tcp(text.parse::<SocketAddr>().expect("an address"))
    }

    #[test]
    fn connections_are_dealt_out_evenly() {
        let addresses = [address("10.0.0.1:80"), address("10.0.0.2:80")];
        let sources = ["10.0.1.1", "10.0.1.2", "::1"].map(|text| text.parse().expect("an address"));
        let routes = Routes::new(&cross(&addresses, &sources));
        let mut taken = [0; 2];
        let mut from = std::collections::HashMap::new();
        for number in 0..40 {
            let route = routes.of_connection(number);
            taken[usize::from(routes.address(route))] += 1;
            *from.entry(routes.get(route).from).or_insert(0) += 1;
        }
        assert_eq!(taken, [20, 20]);
        assert_eq!(from.len(), 2, "the IPv6 source fits no address");
        assert!(from.values().all(|count| *count == 20));
    }

    #[test]
    fn an_address_that_comes_back_keeps_its_number() {
        let route = |text: &str| Route::from(address(text));
        let mut routes = Routes::new(&[route("10.0.0.1:80"), route("10.0.0.2:80")]);
        routes.replace(&[route("10.0.0.3:80")]);
        assert_eq!((routes.of_connection(0), routes.of_connection(1)), (2, 2));
        routes.replace(&[route("10.0.0.2:80")]);
        assert_eq!(routes.of_connection(5), 1);
        routes.replace(&[]);
        assert_eq!(routes.of_connection(5), 1, "where else");
        assert_eq!(routes.address_names(), ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"]);
    }
}
