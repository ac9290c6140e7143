//! Sources of server lists at the layer of bytes.

use redial::{
    ConfigError, Event, Instant, NodeSpec, RefreshId, RefreshResult, Source, SourceId, Warm,
    client::{Client, ClientAction, ClientOutput, length_prefixed::LengthPrefixed},
};

use crate::rig::{Rig, config, ms};

fn asked(rig: &mut Rig) -> Vec<(RefreshId, SourceId)> {
    let mut asked = Vec::new();
    rig.client.drive(rig.now, |_, output| {
        if let ClientOutput::Action(ClientAction::Refresh { refresh, source }) = output {
            asked.push((refresh, source));
        }
    });
    asked
}

fn results(rig: &mut Rig) -> Vec<RefreshResult> {
    rig.drain();
    let result = |event| match event {
        Event::Refreshed { result, .. } => Some(result),
        _ => None,
    };
    rig.events.drain(..).filter_map(result).collect()
}

#[test]
fn a_refresh_is_handed_on_and_its_answer_is_the_list() {
    let config = config().warm(Warm::None).refresh_jitter(ms(0));
    let mut rig = Rig::dialling(1, config.source(Source::primary()));
    let [(refresh, source)] = asked(&mut rig)[..] else {
        panic!("one source is asked once");
    };
    assert_eq!(source.index(), 0);
    let list: [NodeSpec; 1] = ["10.0.0.1:1".parse().expect("an endpoint")];
    rig.client.refreshed(rig.now, refresh, Some(1), &list);
    assert_eq!(results(&mut rig), [RefreshResult::Changed]);
    assert_eq!(rig.client.cluster().stats().nodes, 2);
    rig.now += ms(60_000);
    let [(refresh, _)] = asked(&mut rig)[..] else {
        panic!("it is asked again");
    };
    rig.client.refresh_failed(rig.now, refresh);
    assert_eq!(results(&mut rig), [RefreshResult::Failed]);
}

#[test]
fn fallback_nodes_can_be_named() {
    let mut rig = Rig::dialling(1, config().warm(Warm::None));
    let list: [NodeSpec; 1] = ["10.0.0.1:1".parse().expect("an endpoint")];
    rig.client.set_fallback(rig.now, &list).expect("a list");
    assert_eq!(rig.client.cluster().stats().nodes, 1);
    rig.client.set_fallback(rig.now, &[]).unwrap_err();
}

#[test]
fn a_protocol_without_discovery_cannot_have_it_as_a_source() {
    let config = config().source(Source::discovery()).build();
    let client = Client::new(
        LengthPrefixed::new(),
        config.expect("valid"),
        1,
        Instant::ORIGIN,
    );
    assert_eq!(client.map(drop), Err(ConfigError::NoDiscovery));
}
