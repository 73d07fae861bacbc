//! The two distributions that test statistics are compared with.

use statrs::distribution::{ContinuousCDF as _, Normal, StudentsT};

/// The chance of a standard normal value up to `z`.
pub(super) fn below(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The standard normal value that a share `p` lies below, for `0 < p < 1`.
pub(crate) fn quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// The chance of a value of Student's t with `freedom` degrees above `t`.
pub(super) fn t_above(t: f64, freedom: f64) -> f64 {
    student(freedom).sf(t)
}

/// The value of Student's t with `freedom` degrees that a share `p` lies below, for `0 < p < 1`.
pub(crate) fn t_quantile(p: f64, freedom: f64) -> f64 {
    student(freedom).inverse_cdf(p)
}

fn student(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).expect("at least one degree is valid")
}
