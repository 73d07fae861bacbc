//! What tests of pages share: a browser that lays them out.

pub(crate) mod browser;
