use redial::sim::Schedule;

/// A schedule that is printed reads as the same, and an error is at a place of the text.
pub fn schedule(data: &[u8]) {
    let text = &*String::from_utf8_lossy(data);
    match text.parse::<Schedule>() {
        Ok(schedule) => {
            let printed = schedule.to_string();
            assert_eq!(printed.parse().as_ref(), Ok(&schedule), "{printed}");
            for fault in &schedule.faults {
                assert_eq!(fault.to_string().parse().as_ref(), Ok(fault));
                assert!(fault.at <= fault.ends());
            }
        }
        Err(error) => {
            let lines = text.lines().count().max(1);
            let line = text.lines().nth(error.line - 1).unwrap_or("");
            assert!((1..=lines + 1).contains(&error.line), "{error}");
            let columns = line.chars().count();
            assert!((1..=columns + 1).contains(&error.column), "{error}");
        }
    }
}
