//! Every number has one owner, and no part is ahead of its share.

use proptest::prelude::*;

use super::*;

fn members(stripe: &Stripe, below: u64) -> Vec<u64> {
    (0..).map_while(|count| stripe.nth(count)).take_while(|number| *number < below).collect()
}

#[test]
fn numbers_are_spread_over_the_round() {
    for (shares, want) in [
        (&[1][..], vec![vec![0, 1, 2, 3, 4, 5]]),
        (&[1, 1], vec![vec![0, 2, 4], vec![1, 3, 5]]),
        (&[1, 2], vec![vec![1, 4], vec![0, 2, 3, 5]]),
        (&[3, 2, 1], vec![vec![0, 2, 4], vec![1, 3], vec![5]]),
        (&[0, 5], vec![vec![], vec![0, 1, 2, 3, 4, 5]]),
    ] {
        let stripes = Stripe::deal(shares).expect("within the limits");
        let all: Vec<Vec<u64>> = stripes.iter().map(|stripe| members(stripe, 6)).collect();
        assert_eq!(all, want, "{shares:?}");
    }
    assert_eq!(members(&Stripe::default(), 3), [0, 1, 2]);
}

#[test]
fn shares_that_cannot_be_dealt_are_refused() {
    for shares in [&[][..], &[0, 0], &[u64::MAX, 1], &[1, 100_000_007]] {
        assert_eq!(Stripe::deal(shares), None, "{shares:?}");
    }
    let none = &Stripe::deal(&[0, 1]).expect("a share")[0];
    assert_eq!((none.nth(0), none.count_below(u64::MAX)), (None, 0));
    assert_eq!(Stripe::default().nth(u64::MAX), Some(u64::MAX));
    let half = &Stripe::deal(&[1, 1]).expect("shares")[0];
    assert_eq!(half.nth(u64::MAX), None, "beyond what a number can be");
}

proptest! {
    #[test]
    fn the_union_is_the_whole(shares in prop::collection::vec(0u64..12, 1..8), total in 0u64..500) {
        let Some(stripes) = Stripe::deal(&shares) else {
            prop_assert!(shares.iter().all(|share| *share == 0));
            return Ok(());
        };
        let mut all: Vec<u64> = stripes.iter().flat_map(|it| members(it, total)).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..total).collect::<Vec<_>>());
        let sum: u64 = shares.iter().sum();
        for (stripe, share) in stripes.iter().zip(&shares) {
            let own = members(stripe, total);
            prop_assert_eq!(stripe.count_below(total), own.len() as u64);
            let exact = (total * share) as f64 / sum as f64;
            prop_assert!((own.len() as f64 - exact).abs() <= shares.len() as f64);
        }
    }
}
