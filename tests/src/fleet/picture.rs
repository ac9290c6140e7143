//! Fleets as a picture.

use std::time::Duration;

use svg::{
    Document,
    node::element::{Rectangle, Text},
};

use super::Fleet;

const WIDTH: u32 = 1000;
const LEFT: u32 = 120;
const HEIGHT: u32 = 70;
const TOP: u32 = 60;
/// Labels are at least so many bars apart.
const NEAR: usize = 20;
/// Of the time since the loss that is shown, and of each bar.
const SHOWN: Duration = Duration::from_secs(5);
const BAR: Duration = Duration::from_millis(10);

/// A row a fleet: how many attempts came in each ten milliseconds of the first five seconds. Rows have
/// a common scale, up to a tenth of the clients; what is higher is cut, and its height written there.
#[must_use]
pub fn picture(fleets: &[(&str, &Fleet)]) -> String {
    let rows = fleets.len() as u32;
    let height = TOP + rows * HEIGHT + 40;
    let mut document = Document::new()
        .set("viewBox", (0, 0, WIDTH, height))
        .set("width", WIDTH)
        .set("height", height)
        .set("font-family", "sans-serif")
        .set("font-size", 13)
        .add(
            Rectangle::new()
                .set("width", WIDTH)
                .set("height", height)
                .set("fill", "white"),
        );
    let clients = fleets.first().map_or(0, |(_, fleet)| fleet.clients);
    let title = format!(
        "{clients} clients lose their server at the same instant: attempts to connect in each 10 ms \
         since, by jitter"
    );
    document = document.add(text(12, 22, title).set("font-weight", "bold"));
    let note = format!(
        "full height: {} attempts, a tenth of the clients",
        clients / 10
    );
    document = document.add(text(12, 42, note).set("fill", "#555"));
    for (row, (name, fleet)) in (0..).zip(fleets) {
        let base = TOP + (row + 1) * HEIGHT - 10;
        document = document.add(text(12, base - 20, *name));
        let bars = bars(fleet);
        for (place, &count) in bars.iter().enumerate() {
            // Of neighbours that are cut, the first of the highest has its height beside it.
            let near = &bars[place.saturating_sub(NEAR)..(place + NEAR).min(bars.len())];
            let labelled = near.iter().max() == Some(&count)
                && !bars[place.saturating_sub(NEAR)..place].contains(&count);
            document = bar(document, fleet, base, place as u32, count, labelled);
        }
        document = document.add(
            Rectangle::new()
                .set("x", LEFT)
                .set("y", base)
                .set("width", WIDTH - LEFT - 20)
                .set("height", 1)
                .set("fill", "#999"),
        );
    }
    let axis = TOP + rows * HEIGHT + 10;
    for second in 0..=SHOWN.as_secs() as u32 {
        let x = LEFT + (WIDTH - LEFT - 20) * second / SHOWN.as_secs() as u32;
        let label = text(x, axis, format!("{second} s")).set("text-anchor", "middle");
        document = document.add(label);
    }
    document.to_string()
}

fn bars(fleet: &Fleet) -> Vec<u32> {
    let mut bars = fleet.attempts_by(BAR);
    bars.truncate((SHOWN.as_millis() / BAR.as_millis()) as usize);
    bars
}

fn bar(
    document: Document,
    fleet: &Fleet,
    base: u32,
    place: u32,
    count: u32,
    labelled: bool,
) -> Document {
    if count == 0 {
        return document;
    }
    let full = (fleet.clients / 10).max(1);
    let room = HEIGHT - 25;
    let height = (count.min(full) * room).div_ceil(full);
    let bars = (SHOWN.as_millis() / BAR.as_millis()) as u32;
    let x = f64::from(LEFT) + f64::from(WIDTH - LEFT - 20) * f64::from(place) / f64::from(bars);
    let is_cut = count > full;
    let rectangle = Rectangle::new()
        .set("x", format!("{x:.1}"))
        .set("y", base - height)
        .set("width", 1.6)
        .set("height", height)
        .set("fill", if is_cut { "#b2182b" } else { "#2166ac" });
    let document = document.add(rectangle);
    match is_cut && labelled {
        true => document
            .add(text(x as u32 + 4, base - room + 8, count.to_string()).set("font-size", 10)),
        false => document,
    }
}

fn text(x: u32, y: u32, content: impl Into<String>) -> Text {
    Text::new(content.into()).set("x", x).set("y", y)
}
