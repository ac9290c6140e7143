//! What fuzzers start from, and what they have found, without a fuzzer.

use std::{fs, path::Path};

use redial_tests::fuzz_targets::TARGETS;

#[test]
fn every_input_of_the_corpora_keeps_its_targets_properties() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, run) in TARGETS {
        let inputs = fs::read_dir(corpora.join(name)).expect("each target has a corpus");
        let mut replayed = 0;
        for input in inputs {
            let path = input.expect("the folder can be read").path();
            let data = fs::read(&path).expect("the file can be read");
            if std::panic::catch_unwind(|| run(&data)).is_err() {
                panic!("{} breaks a property of {name}", path.display());
            }
            replayed += 1;
        }
        assert!(replayed > 10, "{name}: {replayed} inputs");
    }
}

#[test]
fn every_corpus_has_a_target() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for corpus in fs::read_dir(corpora).expect("the corpora can be read") {
        let name = corpus.expect("the folder can be read").file_name();
        assert!(
            TARGETS.iter().any(|(target, _)| name == *target),
            "{name:?}"
        );
    }
}
