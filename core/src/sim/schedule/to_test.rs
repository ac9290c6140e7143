//! A schedule as a test that a person pastes.

use std::{
    format,
    string::{String, ToString},
};

use super::Schedule;

impl Schedule {
    /// A test of this name that reads the schedule and calls `call`, an expression in which it is
    /// `schedule`. It is formatted as rustfmt does, if the call is one line of at most 95 characters.
    /// What may not stand in a function's name becomes `_`; one that begins with a digit, or is
    /// empty, gets `test_` in front. The call is taken as it is.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::sim::{Fault, Schedule, Target};
    ///
    /// let (at, lasts) = (Duration::from_secs(1), Duration::from_secs(5));
    /// let schedule = Schedule::new(7, 3, Duration::from_secs(60));
    /// let schedule = schedule.fault(at, lasts, Target::All, Fault::Mute);
    /// let test = schedule.to_test("simulation().run(&schedule)", "mute servers");
    /// assert_eq!(test, r#"#[test]
    /// fn mute_servers() {
    ///     let schedule = "
    ///         seed 7
    ///         servers 3
    ///         lasts 1m
    ///         at 1s for 5s all mute
    ///     ";
    ///     let schedule: redial::sim::Schedule = schedule.parse().unwrap();
    ///     simulation().run(&schedule);
    /// }
    /// "#);
    /// ```
    #[must_use]
    pub fn to_test(&self, call: &str, name: &str) -> String {
        let first = name.chars().next();
        let prefix = match first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_') {
            true => "",
            false => "test_",
        };
        let legal = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = name.chars().map(legal).collect();
        let text = self.to_string();
        let text: String = text
            .lines()
            .map(|line| format!("        {line}\n"))
            .collect();
        format!(
            "#[test]\nfn {prefix}{name}() {{\n    let schedule = \"\n{text}    \";\n    \
             let schedule: redial::sim::Schedule = schedule.parse().unwrap();\n    {call};\n}}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn every_name_becomes_a_functions() {
        let schedule = Schedule::new(1, 1, Duration::ZERO);
        for (name, function) in [
            ("a_name", "fn a_name()"),
            ("_", "fn _()"),
            ("two words", "fn two_words()"),
            ("7 seeds", "fn test_7_seeds()"),
            ("", "fn test_()"),
            ("über\"{}", "fn test__ber___()"),
        ] {
            let test = schedule.to_test("run(schedule)", name);
            assert!(test.contains(function), "{test}");
        }
    }
}
