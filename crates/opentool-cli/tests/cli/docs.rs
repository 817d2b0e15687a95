//! The pages hang together, do what they show, and the files for operators are accepted by the programs that read them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use super::readme::{README, repository, walk};
use super::serving::{Served, wait_until};
use super::*;

const CHINESE: &str = include_str!("../../../../README.zh-CN.md");
const HTTP: &str = include_str!("../../../../docs/http.md");
const PRODUCTION: &str = include_str!("../../../../docs/production.md");

/// All pages, by their paths in the repository.
fn pages() -> BTreeMap<PathBuf, String> {
    let repository = repository();
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in [repository.clone(), repository.join("docs")] {
        let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
        paths.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    paths
        .into_iter()
        .map(|path| (path.strip_prefix(&repository).unwrap().to_owned(), std::fs::read_to_string(&path).unwrap()))
        .collect()
}

/// The lines that are no code.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// Where the links of a page go, but for those to other sites.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let targets = prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

/// The anchors that a page has, as GitHub makes them of headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let prose = prose(text);
    let headings = prose.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    headings
        .map(|heading| {
            let kept = heading.to_lowercase().replace(' ', "-");
            kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
        })
        .collect()
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

#[test]
fn every_link_of_the_pages_leads_somewhere() {
    let (pages, repository) = (pages(), repository());
    let (mut broken, mut count) = (Vec::new(), 0);
    for (page, text) in &pages {
        for link in links(text) {
            count += 1;
            let (path, anchor) =
                link.split_once('#').map_or((link.as_str(), None), |(path, anchor)| (path, Some(anchor)));
            let target = if path.is_empty() { page.clone() } else { normal(&page.parent().unwrap().join(path)) };
            let has_anchor = |anchor| pages.get(&target).is_none_or(|text| anchors(text).contains(anchor));
            if !repository.join(&target).exists() || !anchor.is_none_or(has_anchor) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(count > 100, "{count}");
}

#[test]
fn every_page_can_be_reached_from_the_front_page() {
    let pages = pages();
    let (mut reached, mut next) = (BTreeSet::new(), vec![PathBuf::from("docs/README.md")]);
    while let Some(page) = next.pop() {
        let Some(text) = pages.get(&page) else { continue };
        if reached.insert(page.clone()) {
            let paths = links(text).into_iter().map(|link| link.split('#').next().unwrap_or_default().to_owned());
            next.extend(paths.map(|path| normal(&page.parent().unwrap().join(path))));
        }
    }
    let missed: Vec<_> = pages.keys().filter(|page| !reached.contains(*page)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn the_chinese_readme_has_the_same_code_and_sections() {
    let blocks = |text: &'static str| text.split("```").skip(1).step_by(2).collect::<Vec<_>>();
    assert_eq!(blocks(CHINESE), blocks(README));
    let headings = |text: &str| -> Vec<usize> {
        let prose = prose(text);
        let lines = prose.lines().filter(|line| line.starts_with('#'));
        lines.map(|line| line.bytes().take_while(|byte| *byte == b'#').count()).collect()
    };
    assert_eq!(headings(CHINESE), headings(README));
    // A table row is a fact of its own: none is left out.
    let rows = |text: &str| text.lines().filter(|line| line.starts_with("| ")).count();
    assert_eq!(rows(CHINESE), rows(README));
}

#[test]
fn the_page_about_http_does_what_it_shows() {
    let folder = TestFolder::new();
    let mut commands = 0;
    for block in HTTP.split("```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        match language {
            "console" => commands += walk(&folder, text, "2>/dev/null"),
            // The doc tests of the facade run these.
            "rust" => {}
            other => panic!("a block of `{other}` that no test tries"),
        }
    }
    assert_eq!(commands, 11);
}

/// Where the documentation of a crate stands: its root, and the files that are read into it.
fn crate_docs(folder: &Path) -> String {
    let mut docs = std::fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    let included: Vec<PathBuf> = docs
        .lines()
        .filter(|line| line.starts_with("#![") || line.starts_with("//!"))
        .filter_map(|line| Some(folder.join("src").join(line.split_once("include_str!(\"")?.1.split_once('"')?.0)))
        .collect();
    docs = docs.lines().filter(|line| line.starts_with("//!")).collect::<Vec<_>>().join("\n");
    included.iter().for_each(|file| docs.push_str(&std::fs::read_to_string(file).unwrap()));
    docs
}

#[test]
fn every_crate_must_document_its_items_and_shows_a_sample() {
    let folders = repository().join("crates").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut count = 0;
    for folder in folders.filter(|folder| folder.join("Cargo.toml").exists()) {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let is_linted = manifest.contains("[lints]\nworkspace = true") || manifest.contains("missing_docs = \"warn\"");
        assert!(is_linted, "{} allows items without documentation", folder.display());
        if folder.join("src/lib.rs").exists() {
            assert!(crate_docs(&folder).contains("```"), "{} shows no sample", folder.display());
            count += 1;
        }
    }
    assert!(count >= 12, "{count}");
}

fn has_program(name: &str) -> bool {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|folder| folder.join(name).exists());
    if !found {
        eprintln!("skipped: {name} is not installed");
    }
    found
}

#[test]
#[cfg(target_os = "linux")]
fn the_page_about_production_does_what_it_shows() {
    let folder = TestFolder::new();
    let mut commands = 0;
    for block in PRODUCTION.split("```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        match language {
            "toml" => drop(folder.put("opentool.toml", text.replace("127.0.0.1:9628", "127.0.0.1:0"))),
            "console" if text.contains("sqlite3") && !has_program("sqlite3") => {}
            "console" => commands += walk(&folder, text, "2>/dev/null"),
            // Needs root, and changes the system: only what can be said without running it.
            "sh" => {
                let syntax = Command::new("sh").args(["-n", "-c", text]).output().unwrap();
                assert!(syntax.status.success(), "{syntax:?}");
                assert!(text.contains("deploy/opentool.service"));
            }
            // A part of the configuration of Prometheus, which is not here.
            "yaml" => assert!(text.contains("job_name: opentool")),
            other => panic!("a block of `{other}` that no test tries"),
        }
    }
    assert!(commands >= 14, "{commands}");
}

fn deploy(name: &str) -> String {
    std::fs::read_to_string(repository().join("deploy").join(name)).unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
#[cfg(target_os = "linux")]
fn systemd_accepts_the_unit() {
    if !has_program("systemd-analyze") {
        return;
    }
    let folder = TestFolder::new();
    let unit = deploy("opentool.service").replace("/usr/local/bin/opentool", binary().to_str().unwrap());
    let path = folder.put("opentool.service", unit);
    let output = Command::new("systemd-analyze").arg("verify").arg(&path).output().unwrap();
    let said = said(&output);
    if said.contains("Failed to initialize manager") {
        return eprintln!("skipped: systemd-analyze cannot run here: {said}");
    }
    assert!(output.status.success() && !said.contains("opentool.service:"), "{said}");
    // A key that does not exist is only a warning of systemd's, so this shows that warnings are seen.
    let path = folder.put("opentool.service", "[Service]\nExecStart=/bin/true\nProtectEverything=yes\n");
    let output = Command::new("systemd-analyze").arg("verify").arg(&path).output().unwrap();
    assert!(self::said(&output).contains("opentool.service:"), "{output:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn the_command_of_the_unit_and_the_container_starts_a_server() {
    let commands = [("opentool.service", "ExecStart=/usr/local/bin/opentool "), ("Containerfile", "CMD [")];
    for (file, begin) in commands {
        let text = deploy(file);
        let line = text.lines().find_map(|line| line.strip_prefix(begin)).unwrap();
        let words: Vec<String> = line.replace(['[', ']', '"', ','], "").split_whitespace().map(str::to_owned).collect();
        let folder = TestFolder::with("opentool.toml", "sources = [\"demo\"]\n");
        let words = words.iter().map(|word| match word.as_str() {
            "/etc/opentool/opentool.toml" => "opentool.toml",
            "/var/lib/opentool/journal.sqlite" => "journal.sqlite",
            "0.0.0.0" => "127.0.0.1",
            word => word,
        });
        let words: Vec<&str> = words.collect();
        assert_eq!(words[0], "serve");
        let served = Served::start(&folder, &words[1..], &[("OPENTOOL_API_KEY", "s3cret-key")]);
        let version = served.ask("GET", "/opentool/version", &[("authorization", "Bearer s3cret-key")], "");
        assert_eq!(version.status, 200, "{file}");
        assert!(folder.path("journal.sqlite").exists(), "{file}");
    }
}

#[test]
fn the_alerts_are_about_metrics_that_exist() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[]);
    served.call("add", serde_json::json!({ "a": 1, "b": 2 }));
    let metrics = served.get("/metrics").body;
    let alerts = deploy("alerts.yml");
    let rules: String =
        alerts.lines().filter(|line| !line.contains("summary:") && !line.trim().starts_with('#')).collect();
    let words = rules.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names: BTreeSet<&str> = words.filter(|word| word.starts_with("opentool_")).collect();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        assert!(metrics.contains(&format!("\n{name}{{")) || metrics.contains(&format!("\n{name} ")), "{name}");
    }
    if has_program("promtool") {
        let file = repository().join("deploy/alerts.yml");
        let output = Command::new("promtool").args(["check", "rules"]).arg(file).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
}

/// nginx with the configuration of the repository in front of a server; it ends with the test.
#[cfg(target_os = "linux")]
struct Nginx(std::process::Child);

#[cfg(target_os = "linux")]
impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn calls_go_through_nginx_as_it_is_configured() {
    let program = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| Path::new(path).exists());
    let Some(program) = program else {
        return eprintln!("skipped: nginx is not installed");
    };
    let certified = rcgen::generate_simple_self_signed(["tools.example".to_owned()]).unwrap();
    let folder = TestFolder::with("fullchain.pem", certified.cert.pem());
    folder.put("privkey.pem", certified.signing_key.serialize_pem());
    let served = Served::start(&folder, &["--allowed-host", "tools.example"], &[("OPENTOOL_API_KEY", "s3cret-key")]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let place = folder.0.path().to_str().unwrap();
    let site = deploy("nginx.conf")
        .replace("listen 443 ssl", &format!("listen 127.0.0.1:{port} ssl"))
        .replace("/etc/ssl/tools.example", place)
        .replacen("127.0.0.1:9627", &served.address.to_string(), 1);
    folder.put("site.conf", site);
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {place}/{kind};\n"))
        .concat();
    let main = format!(
        "pid {place}/pid;\nerror_log stderr;\ndaemon off;\nmaster_process off;\nevents {{}}\nhttp {{\naccess_log off;\n{paths}include {place}/site.conf;\n}}\n"
    );
    let path = folder.put("nginx.conf", main);
    let nginx = || {
        let mut command = Command::new(program);
        command.args(["-p", place, "-e", "stderr", "-c"]).arg(&path);
        command
    };
    let output = nginx().arg("-t").output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let _nginx = Nginx(nginx().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let curl = |path: &str, options: &[&str]| {
        let resolve = format!("tools.example:{port}:127.0.0.1");
        let mut command = Command::new("curl");
        command.args(["-s", "--noproxy", "*", "--max-time", "20", "--cacert", "fullchain.pem", "--resolve", &resolve]);
        command.arg(format!("https://tools.example:{port}{path}")).args(options).current_dir(folder.0.path());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let key = ["-H", "Authorization: Bearer s3cret-key"];
    let version = || curl("/opentool/version", &key);
    wait_until(|| version().contains("version"), || format!("nginx: {}", version()));
    let call = r#"{"jsonrpc":"2.0","id":"1","method":"add","params":{"a":1,"b":2}}"#;
    let answer = curl("/opentool/call", &[key[0], key[1], "--json", call]);
    assert_eq!(json(&answer)["result"]["sum"], 3, "{answer}");
    let streamed = curl("/opentool/streamCall", &[key[0], key[1], "-N", "--json", call]);
    assert!(streamed.contains("event:done"), "{streamed}");
    assert!(curl("/opentool/version", &[]).contains("401"));
    assert!(curl("/metrics", &["-o", "/dev/null", "-w", "%{http_code}"]).contains("404"));
}
