//! Every setting that a deployment file gives to a service exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use clap::CommandFactory;
use serde_json::Value;
use testing::from_environment;

use super::read;
use super::units::Unit;

/// Read by every process before its configuration.
const OF_EVERY_PROCESS: [&str; 2] = ["LOG", "LOG_FORMAT"];

/// The settings of each command. A secret may also be given as a file.
fn known() -> BTreeMap<&'static str, BTreeSet<String>> {
    fn of<C: CommandFactory>() -> BTreeSet<String> {
        let command = C::command();
        let arguments = command.get_arguments();
        let names = arguments.filter_map(|argument| {
            let name = argument.get_env()?.to_str()?.to_owned();
            let file = argument.is_hide_env_values_set().then(|| format!("{name}_FILE"));
            Some([Some(name), file])
        });
        names
            .flatten()
            .flatten()
            .chain(OF_EVERY_PROCESS.map(str::to_owned))
            .collect()
    }
    BTreeMap::from([
        ("ingest", of::<ingest::config::Config>()),
        ("worker", of::<worker::config::Config>()),
        ("delivery", of::<worker::delivery::config::DeliveryConfig>()),
        ("webhook-consumer", of::<webhook_consumer::config::Config>()),
        ("ctl", of_ctl()),
    ])
}

/// The command line is not a library: its help lists what it reads.
fn of_ctl() -> BTreeSet<String> {
    let mut known = BTreeSet::from(OF_EVERY_PROCESS.map(str::to_owned));
    for command in [
        &["--help"][..],
        &["dead-letters", "replay", "--help"],
        &["customer", "export", "--help"],
        &["secrets", "reseal", "--help"],
    ] {
        let ctl = PathBuf::from(from_environment("RT_BIN_DIR")).join("ctl");
        let help = Command::new(ctl).args(command).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        for name in help.split("[env: ").skip(1) {
            let name = name.split(['=', ']']).next().unwrap();
            known.extend([name.to_owned(), format!("{name}_FILE")]);
        }
    }
    // Hidden from the help, because one command seldom needs it.
    known.insert("STREAM_REPLICAS".to_owned());
    assert!(known.contains("DATABASE_URL_FILE"), "{known:?}");
    known
}

/// The settings in `given` that `program` does not have.
fn unknown(program: &str, given: impl IntoIterator<Item = String>) -> Vec<String> {
    let known = known();
    let known = known
        .get(program)
        .unwrap_or_else(|| panic!("{program} is no program of ours"));
    given.into_iter().filter(|name| !known.contains(name)).collect()
}

#[test]
fn the_compose_file_sets_what_the_services_have() {
    let compose: Value = serde_saphyr::from_str(&read("compose.yaml")).unwrap();
    let mut seen = 0;
    for (name, service) in compose["services"].as_object().unwrap() {
        let program = match (&service["entrypoint"][0], &service["command"]) {
            (Value::String(program), _) => program.as_str(),
            (_, command) if command[2] == "delivery" => "delivery",
            (_, command) => command[0].as_str().unwrap_or_default(),
        };
        if !service["image"]
            .as_str()
            .unwrap()
            .starts_with("referral-tracker:")
            || program == "bash"
        {
            continue;
        }
        let environment = service["environment"].as_object().unwrap();
        assert!(
            environment.contains_key("DATABASE_URL_FILE"),
            "{name}: {environment:?}"
        );
        let given = environment.keys().filter(|key| *key != "<<").cloned();
        let wrong = unknown(program, given);
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
        // Each file that a setting names is given to the service in a volume of its own.
        let volume = service["volumes"][0].as_str().unwrap();
        let owner = volume
            .strip_prefix("secrets-")
            .and_then(|rest| rest.strip_suffix(":/secrets:ro"))
            .unwrap_or_else(|| panic!("{name}: {volume}"));
        let files = given_secrets(&compose, owner);
        for file in environment
            .values()
            .filter_map(|value| value.as_str()?.strip_prefix("/secrets/"))
        {
            assert!(
                files.iter().any(|given| given == file),
                "{name}: {file} is not among {files:?}"
            );
        }
        seen += 1;
    }
    assert_eq!(seen, 6);
}

/// The files that the compose file's `secrets` puts into a volume.
fn given_secrets(compose: &Value, owner: &str) -> Vec<String> {
    let script = compose["services"]["secrets"]["command"][2].as_str().unwrap();
    let line = script
        .lines()
        .find_map(|line| line.strip_prefix(&format!("give {owner} ")))
        .unwrap_or_else(|| panic!("{owner} is given nothing"));
    line.split(' ')
        .skip(1)
        .map(|file| file.split('=').next().unwrap_or(file).to_owned())
        .collect()
}

#[test]
fn the_manifests_set_what_the_services_have() {
    for (file, program) in [
        ("ingest", "ingest"),
        ("worker", "worker"),
        ("delivery", "delivery"),
        ("webhook-consumer", "webhook-consumer"),
        ("migrate", "ctl"),
        ("operator", "ctl"),
    ] {
        let text = read(&format!("kubernetes/base/{file}.yaml"));
        let (_, environment) = text.split_once("          env:\n").unwrap();
        let given: Vec<String> = environment
            .lines()
            .take_while(|line| line.starts_with("            "))
            .filter_map(|line| Some(line.strip_prefix("            - name: ")?.to_owned()))
            .collect();
        assert!(!given.is_empty(), "{file}");
        assert_eq!(unknown(program, given), Vec::<String>::new(), "{file}");
        // Each file that a setting names is in the secret that is mounted there.
        for line in environment
            .lines()
            .filter(|line| line.contains("value: /secrets/"))
        {
            let name = line.rsplit('/').next().unwrap();
            let item = text.split("{key: ").find_map(|item| {
                let (key, path) = item.split_once(", path: ")?;
                path.starts_with(&format!("{name}}}")).then_some(key)
            });
            let key = item.unwrap_or_else(|| panic!("{file}: {name}"));
            let overlay = read("kubernetes/overlays/production/kustomization.yaml");
            assert!(overlay.contains(&format!("- secrets/{key}\n")), "{key}");
        }
    }
}

/// One service that knows a shared setting is enough.
#[test]
fn shared_settings_are_known_to_a_service() {
    let of_any: BTreeSet<String> = known().into_values().flatten().collect();
    for file in [
        "kubernetes/base/kustomization.yaml",
        "kubernetes/overlays/production/kustomization.yaml",
        "kubernetes/overlays/single-node/kustomization.yaml",
    ] {
        let text = read(file);
        let given = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- ")?.split_once('='));
        let given: Vec<&str> = given
            .map(|(name, _)| name)
            .filter(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
            .collect();
        assert!(!given.is_empty(), "{file}");
        let wrong: Vec<_> = given.iter().filter(|name| !of_any.contains(**name)).collect();
        assert!(wrong.is_empty(), "{file}: {wrong:?}");
    }
}

#[test]
fn units_and_image_set_what_the_services_have() {
    for program in ["ingest", "worker", "webhook-consumer"] {
        let wrong = unknown(program, Unit::of(program).environment().into_keys());
        assert!(wrong.is_empty(), "{program}: {wrong:?}");
    }
    // This role does not use all shared settings.
    let wrong = unknown("delivery", Unit::of("delivery").set().into_keys());
    assert!(wrong.is_empty(), "{wrong:?}");
    let wrong = unknown("ctl", Unit::of("migrate").set().into_keys());
    assert!(wrong.is_empty(), "{wrong:?}");
    let image = read("Dockerfile");
    let given = image.lines().filter_map(|line| line.strip_prefix("ENV LISTEN"));
    let given: Vec<String> = given
        .flat_map(|line| {
            format!("LISTEN{line}")
                .split(' ')
                .map(|pair| pair.split_once('=').unwrap().0.to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(given.len() > 1, "{given:?}");
    assert!(unknown("ingest", given).is_empty());
}

/// The scaler must name consumers that exist, or it does not scale.
#[test]
fn the_scaler_looks_at_every_stream_and_its_consumer() {
    use messages::subject::Subject;
    let text = read("kubernetes/base/scaling.yaml");
    for subject in Subject::ALL {
        let both = format!(
            "        stream: {}\n        consumer: {}\n",
            subject.stream_name(""),
            subject.consumer_name()
        );
        assert!(text.contains(&both), "{both}");
    }
    assert_eq!(text.matches("type: nats-jetstream").count(), Subject::ALL.len());
}
