//! The description of the API against the API, by schemathesis.

use std::process::Command;

use crate::browser::tools;
use crate::server::Server;

#[test]
fn made_up_requests_find_no_error_of_the_server_and_no_breach_of_the_description() {
    let server = Server::new();
    server.run(&["send", "alice", "something to find"]);
    server.run(&["task", "create", "Mend it"]);
    let output = Command::new(tools().join("python/bin/schemathesis"))
        .args(["run", &format!("http://{}/openapi.json", server.host)])
        .args(["--header", &server.bearer(), "--exclude-path", "/api/v1/events"])
        .args([
            "--checks",
            "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
        ])
        .args(["--max-examples", "12", "--phases", "examples,coverage,fuzzing", "--seed", "1", "--no-color"])
        .current_dir(server.world.home())
        .output()
        .unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
}
