//! How small a difference a number of repeats can show.

use super::Shift;
use super::normal;

/// The smallest shift that a comparison of sets of these sizes, as noisy as the ones that gave
/// `shift`, finds with a chance of `power`, from 0.5 to 1, both left out.
///
/// A true shift as large as half the interval is found in half of the cases. For more, the room
/// that Student's t with n + m − 2 degrees of freedom takes for `power` is added, in proportion to
/// what it takes for the confidence. Under normal noise this is the usual sum of two quantiles
/// times the standard error; where the noise has heavy tails it follows the interval, which ranks
/// keep short, and not the standard deviation, which they blow up. In simulations with 4 to 15
/// repeats, the difference for a power of 0.8 is found in 0.73 to 0.78 of the cases under normal
/// noise and in 0.67 to 0.77 under skewed noise and outliers.
///
/// None where there is no interval.
#[must_use]
pub fn detectable_shift(shift: &Shift, n: usize, m: usize, power: f64) -> Option<f64> {
    let interval = shift.interval?;
    let freedom = (n + m).checked_sub(2)? as f64;
    let for_confidence = normal::t_quantile((1.0 + interval.confidence) / 2.0, freedom);
    let for_power = normal::t_quantile(power, freedom);
    Some((interval.high - interval.low) / 2.0 * (1.0 + for_power / for_confidence))
}
