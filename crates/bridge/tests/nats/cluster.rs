//! Three servers that keep the stream together: one is killed, comes back, then another; two are killed; one has lost its disk.

use atm_bridge::nats::{Options, connect};
use atm_support::wait_until;

use super::server::Server;
use super::troubles::{numbered, settles};
use super::world::{Machine, introduce};

/// The server that leads the stream, once all three have everything that is in it.
fn leader(servers: &[Server]) -> Option<usize> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let info = runtime.block_on(async {
        let options = Options { servers: servers.iter().map(Server::url).collect(), ..Options::default() };
        let (up, _) = tokio::sync::mpsc::unbounded_channel();
        let (realm, machine) = ("home".parse().unwrap(), "laptop".parse().unwrap());
        let client = connect(&options, &realm, &machine, false, up).await.ok()?;
        let context = async_nats::jetstream::new(client);
        context.get_stream("atm-home").await.ok()?.cached_info().cluster.clone()
    })?;
    assert_eq!(info.replicas.len(), 2, "init --replicas 3 asks for three servers");
    let is_whole = info.replicas.iter().all(|replica| replica.current && !replica.offline);
    info.leader.filter(|_| is_whole)?.strip_prefix('s')?.parse().ok()
}

/// Ann on laptop and bob on hub, with three servers; their bridges run.
fn pair_at(servers: &[Server; 3]) -> (Machine, Machine) {
    let urls = servers.each_ref().map(Server::url).join(",");
    let mut laptop = Machine::new("laptop", &urls, &["ann"]);
    let mut hub = Machine::new("hub", &urls, &["bob"]);
    introduce(&[&laptop, &hub]);
    let init = ["init", "--nats", &urls, "--replicas", "3", "--for", "laptop", "--for", "hub"];
    wait_until("the cluster has a leader and makes the realm", || laptop.run(&init).status.success());
    laptop.start();
    hub.start();
    laptop.wait_for_member("bob");
    (laptop, hub)
}

#[test]
fn a_cluster_of_three_goes_on_without_one_and_then_without_another() {
    let mut servers = Server::cluster();
    let (laptop, hub) = pair_at(&servers);
    let texts = numbered(60);
    let (mut ids, mut down) = (Vec::new(), None);
    for part in texts.chunks(20) {
        // The one that was down comes back before the next one is killed: two of three keep the stream.
        if let Some(server) = down.take() {
            let server: usize = server;
            servers[server].start();
        }
        let mut leads = None;
        wait_until("all servers have the stream", || {
            leads = leader(&servers);
            leads.is_some()
        });
        let (before, after) = part.split_at(10);
        ids.extend(before.iter().map(|text| laptop.send("ann", "bob", text).id));
        // The one that leads, with letters under way.
        if let Some(server) = leads {
            servers[server].kill();
        }
        down = leads;
        ids.extend(after.iter().map(|text| laptop.send("ann", "bob", text).id));
        wait_until("mail goes on", || hub.texts("bob").len() >= ids.len());
    }
    settles(&laptop, &hub, &ids);
}

/// One of three cannot say what is stored: nothing is carried, and nothing is lost.
#[test]
fn a_cluster_without_a_majority_costs_time_and_no_mail_also_if_one_comes_back_without_its_disk() {
    let mut servers = Server::cluster();
    let (laptop, hub) = pair_at(&servers);
    let (texts, mut ids) = (numbered(30), Vec::new());
    for (part, loses_disk) in texts.chunks(15).zip([false, true]) {
        let mut leads = None;
        wait_until("all servers have the stream", || {
            leads = leader(&servers);
            leads.is_some()
        });
        let leads = leads.unwrap_or_default();
        let (before, after) = part.split_at(5);
        ids.extend(before.iter().map(|text| laptop.send("ann", "bob", text).id));
        let down = [leads, (leads + 1) % servers.len()];
        for server in down {
            servers[server].kill();
        }
        let late: Vec<String> = after.iter().map(|text| laptop.send("ann", "bob", text).id).collect();
        assert!(late.iter().all(|id| laptop.stage(id) == "accepted"), "nobody stores them");
        ids.extend(late);
        for server in down {
            if loses_disk && server == leads {
                servers[server].lose_disk();
            } else {
                servers[server].start();
            }
        }
        wait_until("mail goes on", || hub.texts("bob").len() >= ids.len());
    }
    settles(&laptop, &hub, &ids);
}
