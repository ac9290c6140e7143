//! redial against redis-rs on the same real Redis.

use crate::support::Report;

pub(crate) fn compare(report: &mut Report) {
    report.line("");
}
