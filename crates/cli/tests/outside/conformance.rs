//! The conformance tool, over HTTP, and what is refused there.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

use atm_support::TestEnv;
use serde_json::Value;

use crate::{ATM, Running, node_program, ok};

/// A server on a free port, and its address.
fn serve(world: &TestEnv) -> (Running, String) {
    let mut child =
        world.atm(ATM).args(["mcp", "--http", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    (Running(child), url.trim().to_owned())
}

#[test]
fn what_every_server_must_do_ours_does() {
    let world = TestEnv::new();
    let (_server, url) = serve(&world);
    let baseline = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outside/conformance.yml");
    let said = ok(node_program(&world, "conformance")
        .args(["server", "--url", &url, "--expected-failures"])
        .arg(baseline));
    for passed in [
        "server-initialize",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    ] {
        assert!(said.contains(&format!("✓ {passed}: ")), "{passed}:\n{said}");
    }
}

/// The status line of a POST with this header.
fn status(url: &str, path: &str, header: &str) -> String {
    let host = url.trim_start_matches("http://").split('/').next().unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let host = if header.starts_with("Host:") { String::new() } else { format!("Host: {host}\r\n") };
    write!(
        stream,
        "POST {path} HTTP/1.1\r\n{host}{header}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn with_json_the_address_is_a_document() {
    let world = TestEnv::new();
    let args = ["mcp", "--http", "127.0.0.1:0", "--json"];
    let mut child = world.atm(ATM).args(args).stdout(Stdio::piped()).spawn().unwrap();
    let output = child.stdout.take().unwrap();
    let _server = Running(child);
    let mut documents = serde_json::Deserializer::from_reader(output).into_iter::<Value>();
    let said = documents.next().unwrap().unwrap();
    let url = said["url"].as_str().unwrap();
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/mcp"), "{said}");
    assert_eq!(said["token"].as_str().unwrap().len(), 64, "{said}");
}

#[test]
fn strangers_are_refused() {
    let world = TestEnv::new();
    let (_server, url) = serve(&world);
    let (_, token) = url.split_once("?token=").unwrap();
    let (own, elsewhere) = (format!("/mcp?token={token}"), format!("/?token={token}"));
    assert!(status(&url, &own, "Origin: http://evil.example").contains("403"));
    assert!(status(&url, &own, "Origin: null").contains("403"));
    assert!(status(&url, &own, "Host: evil.example").contains("403"));
    assert!(status(&url, &elsewhere, "Accept: */*").contains("404"));
    assert!(status(&url, "/mcp", "Accept: */*").contains("401"));
    let own = status(&url, &own, "Origin: http://localhost:3000");
    assert!(!own.contains("403") && !own.contains("401"), "{own}");

    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = world.atm(ATM).args(["mcp", "--http", address]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{address}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("can be reached from other machines"), "{said}");
    }
    let address = url.trim_start_matches("http://").split('/').next().unwrap();
    let refused = world.atm(ATM).args(["mcp", "--http", address]).output().unwrap();
    assert_eq!(refused.status.code(), Some(7), "the port is taken");
}
